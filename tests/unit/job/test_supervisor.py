"""The supervisor with small programs instead of Spark, as real processes."""

import os
import secrets
import signal
import sys
import threading

import pytest

from onceproof.errors import StackError
from onceproof.job.attempt import end_job, job_processes, start
from onceproof.job.supervisor import Supervisor, Watch
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome
from onceproof.runs.restart import FixedDelay, NoRestart

FOREVER = "import time; time.sleep(600)"
# A child that ignores SIGTERM, and outlives its parent as a JVM outlives its Python driver.
WITH_CHILD = (
    "import signal, subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import signal, time;"
    " signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)']); " + FOREVER
)


@pytest.fixture
def job():
    name = f"job-{secrets.token_hex(4)}"
    yield name
    end_job(name)


class Bench:
    """A supervisor whose watch returns plain values that a test sets."""

    def __init__(self, folder, job, program, strategy, stall_s=60, in_turns=False):
        self.over, self.progress, self.trouble, self.recovered = False, 0, "", []
        self.idle, self.sent = False, False
        self.history = History(folder / "history.jsonl")
        watch = Watch(
            lambda: None,
            lambda: self.over,
            lambda: self.progress,
            lambda: self.idle,
            lambda: self.sent,
            lambda: self.trouble,
        )
        self.supervisor = Supervisor(
            lambda n: start(
                n, job, [sys.executable, "-c", program], os.environ, folder, folder / "log"
            ),
            lambda: self.recovered.append(len(self.ends())) or {"checkpoint": []},
            strategy,
            watch,
            self.history,
            stall_s,
            in_turns,
        )

    def ends(self):
        return [
            (one.attempt, one.outcome, one.proof["reason"])
            for one in self.history.read()
            if one.op is Op.ATTEMPT_END
        ]


def test_a_failing_job_is_restarted_until_the_strategy_gives_up(tmp_path, job):
    bench = Bench(tmp_path, job, "raise SystemExit(1)", FixedDelay(2, 0.01))
    reason = bench.supervisor.supervise()
    assert reason == "attempt 3 failed (its process ended), and the restart strategy gave up"
    failed = Outcome.FAILED
    assert bench.ends() == [(n, failed, "its process ended") for n in (1, 2, 3)]
    assert bench.recovered == [1, 2]


def test_the_strategys_decision_is_recorded_with_the_last_error(tmp_path, job):
    bench = Bench(tmp_path, job, "import sys; sys.exit('no such topic')", FixedDelay(1, 0.01))
    bench.supervisor.supervise()
    asked = [one for one in bench.history.read() if one.op is Op.RESTART]
    assert [(one.attempt, one.proof["decided"]) for one in asked] == [(1, "start"), (2, "give up")]
    assert [one.proof["pause_s"] for one in asked] == [0.01, None]
    assert {one.proof["said"] for one in asked} == {"no such topic"}
    assert bench.supervisor.gave_up


def test_no_attempt_starts_while_starts_are_held_and_the_check_comes_after(tmp_path, job):
    bench = Bench(tmp_path, job, "raise SystemExit(1)", FixedDelay(1, 0))
    supervisor = bench.supervisor
    with supervisor.starts_held:
        thread = threading.Thread(target=supervisor.supervise)
        thread.start()
        assert bench.history.last_seq() == 0
        assert bench.recovered == []
    thread.join(30)
    assert bench.recovered == [1]
    assert [attempt for attempt, *_ in bench.ends()] == [1, 2]


def test_a_job_that_makes_no_progress_is_ended_and_that_is_a_failure(tmp_path, job):
    bench = Bench(tmp_path, job, FOREVER, NoRestart(), stall_s=0.3)
    bench.supervisor.supervise()
    assert bench.ends() == [(1, Outcome.FAILED, "no progress in 0.3 s")]
    assert job_processes(job) == []


def test_a_run_that_is_over_ends_its_job_with_all_its_children(tmp_path, job):
    bench = Bench(tmp_path, job, WITH_CHILD, NoRestart())
    look = bench.supervisor.watch.catch_up

    def over_when_both_live():
        look()
        bench.over = len(job_processes(job)) == 2

    bench.supervisor.watch.catch_up = over_when_both_live
    assert bench.supervisor.supervise() == ""
    assert bench.ends() == [(1, Outcome.OK, "over")]
    assert job_processes(job) == []


def test_a_trouble_ends_the_run_and_is_returned(tmp_path, job):
    bench = Bench(tmp_path, job, FOREVER, FixedDelay(9, 0))
    bench.trouble = "the run did not end within 300 s"
    assert bench.supervisor.supervise() == "the run did not end within 300 s"
    assert [attempt for attempt, *_ in bench.ends()] == [1]


def start_rival(bench, then):
    """Request a rival from another thread, which ends before the rival is inspected."""
    supervisor = bench.supervisor

    def body():
        wait_for(lambda: supervisor.current, 10, "no attempt")
        supervisor.start_rival()

    look, thread = supervisor.watch.catch_up, threading.Thread(target=body)
    thread.start()

    def look_once_more():
        look()
        if supervisor.rival and not thread.is_alive() and not bench.ends():
            assert supervisor.rival.is_alive
            then(supervisor)
        bench.over = bool(bench.ends())

    supervisor.watch.catch_up = look_once_more


def test_a_rival_is_the_next_attempt_when_the_first_has_failed(tmp_path, job):
    bench = Bench(tmp_path, job, FOREVER, NoRestart())
    start_rival(bench, lambda supervisor: supervisor.current.kill())
    assert bench.supervisor.supervise() == ""
    assert bench.ends() == [(1, Outcome.FAILED, "its process ended"), (2, Outcome.OK, "over")]
    assert bench.recovered == []
    assert job_processes(job) == []


def test_the_first_attempt_outlives_a_rival_that_ends(tmp_path, job):
    bench = Bench(tmp_path, job, FOREVER, NoRestart())
    start_rival(bench, lambda supervisor: supervisor.rival.kill())
    assert bench.supervisor.supervise() == ""
    assert bench.ends() == [(2, Outcome.FAILED, "its process ended"), (1, Outcome.OK, "over")]
    assert job_processes(job) == []


def test_there_is_at_most_one_rival(tmp_path, job):
    bench = Bench(tmp_path, job, FOREVER, NoRestart())

    def once_more(supervisor):
        with pytest.raises(StackError, match="2"):
            supervisor.start_rival()
        supervisor.rival.kill()

    start_rival(bench, once_more)
    assert bench.supervisor.supervise() == ""


def test_killing_a_driver_kills_its_session_and_returns_the_processes(tmp_path, job):
    command = [sys.executable, "-c", WITH_CHILD]
    attempt = start(1, job, command, os.environ, tmp_path, tmp_path / "log")
    wait_for(lambda: len(job_processes(job)) == 2, 10, "it has no child")
    both = set(job_processes(job))
    assert set(attempt.kill()) == both
    assert not attempt.is_alive
    assert job_processes(job) == []


def test_a_driver_dies_with_its_supervisor(tmp_path, job):
    parent = os.fork()
    if parent == 0:
        start(1, job, [sys.executable, "-c", FOREVER], os.environ, tmp_path, tmp_path / "log")
        signal.pause()
    wait_for(
        lambda: any("time.sleep" in " ".join(one.arguments()) for one in job_processes(job)), 10, ""
    )
    Identity.of(parent).send(signal.SIGKILL)
    os.waitpid(parent, 0)
    wait_for(lambda: not job_processes(job), 5, "the driver outlives its supervisor")
