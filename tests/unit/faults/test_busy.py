"""Finding a busy executor by the thread dump of its JVM."""

import signal
import sys
from random import Random
from types import SimpleNamespace

import pytest

from onceproof.errors import StackError
from onceproof.faults import Scene, abilities, busy
from onceproof.faults.busy import busy_executor, busy_worker, has_running_task
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.runs.plan import FaultPart
from onceproof.scenario.checks import misplaced

NAME = '"Executor task launch worker for task 1.0 in stage 3.0 (TID 14)" #61 daemon prio=5'
RUNNING = f"""{NAME} runnable
   java.lang.Thread.State: RUNNABLE
\tat java.net.SocketInputStream.socketRead0(Native Method)
\tat org.apache.spark.executor.Executor$TaskRunner.run(Executor.scala:650)
"""
IDLE = f"""{NAME} waiting on condition
   java.lang.Thread.State: TIMED_WAITING (parking)
\tat java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1062)
"""
OTHER = '"main" #1 prio=5 waiting\n\tat java.lang.Object.wait(Native Method)\n'
LAST = "\nJNI global refs: 21, weak refs: 0\n"
PRINTS = (
    "import pathlib, signal, sys, time\n"
    "signal.signal(signal.SIGQUIT, lambda *_: print(sys.argv[1], flush=True))\n"
    "pathlib.Path('ready').touch()\n"
    "while True: time.sleep(600)"
)


def dump(*threads):
    return "\n".join(["Full thread dump", *threads, LAST])


@pytest.mark.parametrize(
    ("threads", "expected"),
    [((OTHER, RUNNING), True), ((OTHER, IDLE), False), ((OTHER,), False), ((), False)],
)
def test_only_a_thread_in_the_middle_of_a_task_counts(threads, expected):
    assert has_running_task([dump(*threads).encode()]) is expected


@pytest.fixture
def executors(tmp_path):
    """Start processes that print these threads on SIGQUIT, each in its own folder."""
    started = []

    def start(*printed):
        for number, text in enumerate(printed):
            folder = tmp_path / str(number)
            folder.mkdir()
            words = [sys.executable, "-c", PRINTS, text]
            started.append(spawn(words, log=folder / "stdout", env={}, cwd=folder))
            wait_for((folder / "ready").exists, 20, "it does not start")
        return list(started)

    yield start
    for one in started:
        one.send(signal.SIGKILL)


def scene(living, stack=None, halted=None):
    job = SimpleNamespace(executors=lambda: [one for one in living if one.is_alive])
    return Scene(None, stack, job, Random(7), None, halted)


def test_the_busy_executor_is_picked_and_lives_on(executors):
    living = executors(dump(IDLE), dump(RUNNING), dump(OTHER))
    assert busy_executor(scene(living)) == living[1]
    assert all(one.is_alive for one in living)


def test_no_busy_executor_is_an_error(executors, monkeypatch):
    monkeypatch.setattr(busy, "_COMES_WITHIN_S", 0.1)
    with pytest.raises(StackError, match="executor"):
        busy_executor(scene(executors(dump(IDLE))))


def stack_of(*pids):
    members = [
        SimpleNamespace(kind="worker", name=f"worker:{number}", pid=pid)
        for number, pid in enumerate(pids, 1)
    ]
    return SimpleNamespace(status=lambda: members)


def test_the_worker_of_a_busy_executor_is_its_ancestor(executors):
    [one] = executors(dump(RUNNING))
    parent = one.ancestors()[0]
    assert busy_worker(scene([one], stack_of(one.pid, parent.pid))) == "worker:2"


def test_an_executor_of_another_stack_has_no_worker(executors):
    with pytest.raises(StackError, match="worker"):
        busy_worker(scene(executors(dump(RUNNING)), stack_of(1 << 22)))


def test_the_executor_at_the_failpoint_is_taken_without_a_thread_dump(executors, monkeypatch):
    [one] = executors(dump(IDLE))
    monkeypatch.setattr(Identity, "ancestors", lambda _: [one])
    stack = stack_of(one.pid)
    assert busy_worker(scene([one], stack, halted=one)) == "worker:1"


@pytest.mark.parametrize("target", ["executor:busy", "worker:busy"])
def test_no_executor_is_busy_while_the_driver_waits(target):
    assert "no task runs" in misplaced("kill", target, "all_pre_committed", None)
    assert misplaced("kill", target, "task_mid", None) == ""


@pytest.mark.parametrize("target", ["executor:busy", "worker:busy"])
def test_a_stack_with_executors_elsewhere_cannot_look_for_a_busy_one(target):
    stack = SimpleNamespace(name="far", runs_executors_here=False, lacks=lambda *_: "")
    assert "far" in abilities.lacks(stack, FaultPart("f", "kill", target, {"batch": 1}))
