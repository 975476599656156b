"""Faults of the job's processes, on small real ones, with their proofs."""

import os
import signal
import sys
import threading
from random import Random
from types import SimpleNamespace

import pytest

from onceproof import failpoints
from onceproof.checkpoint.damage import damage
from onceproof.errors import RequestError, StackError
from onceproof.failpoints import Failpoint
from onceproof.faults import Scene, pause_job
from onceproof.faults.registry import find_mechanism
from onceproof.faults.small_disks import mount_disks, unmount_disks
from onceproof.machine.identity import all_processes
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import FaultPart
from onceproof.stacks.members.cluster import EXECUTOR, is_executor
from tests.unit.handwritten_checkpoint import write_file

SLEEPS = "import time; time.sleep(600)"
AT_A_STEP = "from onceproof import failpoints; failpoints.reached('task_mid', 3); import time; "
WITH_CHILD = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[-1]]).wait()"


class Job:
    """A job of a few processes; `commits` are the newest commits that it returns in turn."""

    def __init__(self, folder):
        self.folder, self.living, self.rivals, self.commits = folder, [], [], [-1]
        self.run = RunDirectory(folder)
        self.logs, self.held, self.looks, self.deaths = [], [], [], threading.Lock()

    def start(self, *words):
        one = spawn(
            [sys.executable, "-c", *words],
            log=self.folder / "log",
            env={**os.environ, failpoints.FOLDER: str(self.folder)},
            cwd=self.folder,
        )
        self.living.append(one)
        return one

    def processes(self):
        return [
            one
            for one in all_processes()
            if {one, *one.ancestors()} & set(self.living) and one.is_alive
        ]

    def driver(self):
        return [one for one in self.living if one.is_alive]

    def executors(self):
        return [one for one in self.processes() if is_executor(one)]

    def stop_driver(self):
        return self.kill_driver(signal.SIGTERM)

    def kill_driver(self, by=signal.SIGKILL):
        dead = [one for one in self.living if one.send(by)]
        wait_for(lambda: not any(one.is_alive for one in dead), 10, "it lives")
        if self.run.executors.exists():  # it is started again, rescaled
            for _ in range(int(self.run.executors.read_text())):
                self.start(SLEEPS, EXECUTOR)
        return dead

    def kill_all(self):
        living = self.processes()
        for one in living:
            one.send(signal.SIGKILL)
        self.kill_driver()
        return living

    def let_readers_look(self):
        self.looks.append(self.commits[0])

    def start_rival(self):
        self.rivals.append(self.start(SLEEPS))
        return self.rivals[-1]

    def planned(self):
        return {}

    def committed(self):
        return self.commits.pop(0) if len(self.commits) > 1 else self.commits[0]

    def newest(self):
        self.held.append(all(one.is_paused for one in self.driver()))
        return self.logs.pop(0)

    def while_down(self, act):
        return self.kill_driver(), act(self.folder)


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path)
    yield made
    for one in all_processes():  # children of dead parents have other parents now
        if one.has_environment(failpoints.FOLDER, str(tmp_path)):
            one.send(signal.SIGKILL)
    wait_for(lambda: not any(one.is_alive for one in made.living), 10, "it lives")


def scene(job, halted=None, point=None):
    return Scene(None, None, job, Random(7), point, halted)


def strike(verb, target, at, how=None):
    fault = FaultPart("fault", verb, target, {}, how or {})
    mechanism = find_mechanism(verb, target)
    return mechanism.strike(fault, at), lambda proof: mechanism.heal(fault, at, proof)


def pids(processes):
    return sorted(one["pid"] for one in processes)


def at_a_step(job, then=SLEEPS):
    """Start a process that waits at task_mid of batch 3."""
    point = Failpoint("fault", "task_mid", 3, job.folder)
    point.arm()
    halted = job.start(AT_A_STEP + then)
    wait_for(point.reached, 20, "it is not reached")
    return scene(job, halted, point)


def test_a_task_at_the_failpoint_is_killed(job):
    at = at_a_step(job)
    proof, _ = strike("kill", "task", at)
    assert pids(proof["dead"]) == [at.halted.pid]
    assert not at.halted.is_alive
    with pytest.raises(StackError, match="failpoint"):
        strike("kill", "task", at)


def test_a_process_at_the_failpoint_raises_and_its_program_goes_on(job):
    at = at_a_step(job)
    proof, _ = strike("raise", "task", at)
    assert pids(proof["raised_in"]) == [at.halted.pid]
    wait_for(lambda: not at.halted.is_alive, 10, "it did not raise")
    assert "task_mid of batch 3: fault" in (job.folder / "log").read_text()


def test_the_death_of_another_driver_proves_nothing(job):
    halted = job.start("import time; time.sleep(0.01)")
    wait_for(lambda: not halted.is_alive, 10, "it lives")
    job.start(SLEEPS)
    at = scene(job, halted, Failpoint("fault", "decided", 3, job.folder))
    with pytest.raises(StackError, match=str(halted.pid)):
        strike("kill", "driver", at)


def test_the_whole_job_is_killed(job):
    job.start(WITH_CHILD, SLEEPS)
    wait_for(lambda: len(job.processes()) == 2, 10, "it has no child")
    both = job.processes()
    proof, _ = strike("kill", "job", scene(job))
    assert pids(proof["dead"]) == sorted(one.pid for one in both)
    assert job.processes() == []
    with pytest.raises(StackError, match="driver"):
        strike("kill", "job", scene(job))


def test_an_executor_is_paused_and_resumed_with_its_children(job, monkeypatch):
    driver, executor = job.start(SLEEPS), job.start(WITH_CHILD, EXECUTOR, SLEEPS)
    wait_for(lambda: len(job.processes()) == 3, 10, "it has no child")
    job.commits = [3, 4]
    proof, heal = strike("pause", "executor:any", scene(job))
    both = [one for one in job.processes() if one != driver]
    assert pids(proof["paused"]) == sorted(one.pid for one in both)
    assert all(one.is_paused for one in both)
    executor.send(signal.SIGKILL)
    wait_for(lambda: not executor.is_alive, 10, "it lives")
    still: list[bool] = []
    monkeypatch.setattr(
        job, "let_readers_look", lambda: still.extend(one.is_paused for one in both[1:])
    )
    healed = heal(proof)
    assert still == [True]
    assert (pids(healed["dead_before"]), healed["committed_before"]) == ([executor.pid], 4)
    assert not any(one.is_paused for one in both)
    with pytest.raises(StackError, match="zombie"):
        heal(proof)
    driver.send(signal.SIGKILL)
    wait_for(lambda: not driver.is_alive, 10, "it lives")
    assert heal(proof)["woken"] == []


def test_a_descendant_that_has_ended_does_not_delay_the_pause(job):
    executor, gone = job.start(SLEEPS, EXECUTOR), job.start("")
    wait_for(lambda: not gone.is_alive, 10, "it lives")
    assert pids(pause_job._pause([executor], [gone])["paused"]) == [executor.pid]


def test_resuming_an_executor_that_was_not_replaced_is_an_error(job):
    for _ in range(2):
        job.start(SLEEPS, EXECUTOR)
    proof, heal = strike("pause", "executor:all", scene(job))
    assert pids(proof["paused"]) == sorted(one.pid for one in job.living)
    with pytest.raises(StackError, match="replaced"):
        heal(proof)
    assert not any(one.is_paused for one in job.living)


@pytest.mark.parametrize(("target", "marks"), [("driver", ()), ("executor:any", (EXECUTOR,))])
def test_stop_ends_the_process(job, target, marks):
    one = job.start(SLEEPS, *marks)
    proof, _ = strike("stop", target, scene(job))
    assert pids(proof["dead"]) == [one.pid]


def test_a_job_without_executors_has_none_to_strike(job, monkeypatch):
    monkeypatch.setattr("onceproof.faults.kill_executor._COME_WITHIN_S", 0.1)
    job.start(SLEEPS)
    with pytest.raises(StackError, match="executor"):
        strike("kill", "executor:any", scene(job))


def test_a_second_driver_commits_while_the_first_is_held(job):
    at = at_a_step(job)
    job.commits = [2, 2, 2, 3]
    proof, _ = strike("start", "driver", at)
    assert (pids(proof["first"]), pids(proof["second"])) == (
        [at.halted.pid],
        [job.rivals[0].pid],
    )
    assert proof["committed_by_it"] == 3
    assert job.looks == [3]


@pytest.mark.parametrize("ends_first", [True, False])
def test_a_driver_that_ends_early_proves_no_second_driver(job, monkeypatch, ends_first):
    at = at_a_step(job)
    begin = job.start_rival

    def start_rival():
        rival = begin()
        gone = at.halted if ends_first else rival
        gone.send(signal.SIGKILL)
        wait_for(lambda: not gone.is_alive, 10, "it lives")
        return rival

    monkeypatch.setattr(job, "start_rival", start_rival)
    job.commits = [2, 3]
    with pytest.raises(StackError, match="first" if ends_first else "second"):
        strike("start", "driver", at)


@pytest.mark.parametrize("words", [("damage", "checkpoint:unaligned"), ("lose", "commit")])
def test_a_checkpoint_is_damaged_when_its_newest_batch_is_committed_and_no_other_planned(
    job, words
):
    job.start(SLEEPS)
    for name in ("commits/4", "offsets/3", "offsets/4"):
        write_file(job.folder / name, f"v1\n{{}}\n{name}")
    job.logs = [(3, 2), (3, 3), (4, 3), (4, 4)]
    fault = FaultPart("fault", *words, {"failpoint": "commit_logged", "batch": 4})
    proof = find_mechanism(*words).strike(fault, scene(job))
    kind = "commit_lost" if words[0] == "lose" else "unaligned"
    assert (proof["damage"], proof["batch"]) == (kind, 4)
    assert ("commits/4" if words[0] == "lose" else "offsets/4") in proof["files"]
    assert job.held == [True] * 4
    assert pids(proof["dead"]) == [job.living[0].pid]


def test_a_checkpoint_without_a_driver_is_not_damaged(job, monkeypatch):
    monkeypatch.setattr("onceproof.faults.damage_checkpoint._COMES_WITHIN_S", 0.2)
    with pytest.raises(StackError, match="driver"):
        strike("damage", "checkpoint:commit_lost", scene(job))


def test_a_job_is_rescaled_when_its_next_attempt_has_the_wanted_executors(job):
    before = job.start(SLEEPS, EXECUTOR)
    job.start(SLEEPS, EXECUTOR)
    proof, _ = strike("rescale", "job", scene(job))
    assert (proof["executors_before"], len(proof["executors"])) == (2, 1)
    assert before.pid not in pids(proof["executors"])
    with pytest.raises(StackError, match="already"):
        strike("rescale", "job", scene(job), {"executors": 1})
    proof, _ = strike("rescale", "job", scene(job))
    assert (proof["executors_before"], len(proof["executors"])) == (1, 2)


def test_a_folder_without_a_disk_of_its_own_is_not_filled(tmp_path):
    job = SimpleNamespace(run=RunDirectory(tmp_path))
    job.run.checkpoint.mkdir()
    with pytest.raises(StackError, match="checkpoint/"):
        strike("fill", "checkpoint", scene(job))
    assert not list(tmp_path.rglob(".filler"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_disk_is_filled_to_its_last_byte_and_emptied(tmp_path):
    run = RunDirectory(tmp_path)
    job = SimpleNamespace(run=run)
    fault = FaultPart("fill", "fill", "checkpoint", {})
    mount_disks(run, [fault, fault])
    mount_disks(run, [fault])
    try:
        (run.checkpoint / "metadata").write_text("kept")
        proof, heal = strike("fill", "checkpoint", scene(job))
        with pytest.raises(OSError, match="space"):
            (run.checkpoint / "more").write_bytes(b"x" * 8192)
        assert proof["filler_bytes"] > 1 << 24
        assert heal(proof)["free_bytes"] > 1 << 24
        assert heal(proof)["free_bytes"] > 1 << 24
    finally:
        unmount_disks(run)
    unmount_disks(run)
    assert not os.path.ismount(run.checkpoint)
    assert (run.checkpoint / "metadata").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_lost_disk_loses_the_checkpoint_and_is_replaced(tmp_path):
    run = RunDirectory(tmp_path)
    mount_disks(run, [FaultPart("lost", "damage", "checkpoint:disk_lost", {})])
    try:
        (run.checkpoint / "metadata").write_text("gone")
        proof = damage(run.checkpoint, "disk_lost", 0)
        assert list(proof["files"]) == ["metadata"]
        assert proof["files"]["metadata"]["after"] is None
        assert os.path.ismount(run.checkpoint)
        assert not list(run.checkpoint.iterdir())
    finally:
        unmount_disks(run)


def test_a_disk_that_cannot_be_mounted_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    fault = FaultPart("fill", "fill", "output", {})
    with pytest.raises(RequestError, match="output"):
        mount_disks(RunDirectory(tmp_path), [fault])
