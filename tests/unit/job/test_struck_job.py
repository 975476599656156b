"""The job under test, as faults see it."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from onceproof.errors import StackError
from onceproof.faults.damage_checkpoint import strike
from onceproof.job.attempt import ATTEMPT, JOB, Attempt, end_job
from onceproof.job.struck import StruckJob
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.runs.plan import FaultPart
from onceproof.stacks.members.cluster import EXECUTOR
from tests.unit.handwritten_checkpoint import write_file

SLEEPS = "import time; time.sleep(600)"
WITH_CHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]).wait()"


def test_killing_the_whole_job_spares_the_next_attempt(tmp_path):
    name = f"struck-{os.getpid()}"

    def begin(word):
        env = {**os.environ, JOB: name}
        return spawn([sys.executable, "-c", word], log=tmp_path / "log", env=env, cwd=tmp_path)

    supervisor = SimpleNamespace(starts_held=threading.Lock())
    job = StruckJob(None, name, supervisor, None)
    driver, next_ones = begin(WITH_CHILD), []
    supervisor.current = Attempt(1, name, driver)

    def start_again():
        wait_for(lambda: not driver.is_alive, 30, "it lives", every_s=0.001)
        with supervisor.starts_held:
            next_ones.append(begin(SLEEPS))
            supervisor.current = Attempt(2, name, next_ones[0])

    watcher = threading.Thread(target=start_again)
    watcher.start()
    wait_for(lambda: len(job.processes()) == 2, 30, "it has no child")
    dead = job.kill_all()
    watcher.join()
    try:
        assert driver in dead
        assert len(dead) == 2
        wait_for(lambda: job.processes() == next_ones, 10, "the next attempt does not live")
    finally:
        job.kill_all()
    assert job.processes() == []


def test_only_one_of_two_faults_kills_a_driver(tmp_path, monkeypatch):
    monkeypatch.setattr("onceproof.job.struck._DRIVER_COMES_WITHIN_S", 0.2)
    name = f"struck-twice-{os.getpid()}"
    env = {**os.environ, JOB: name, ATTEMPT: "1"}
    driver = spawn([sys.executable, "-c", SLEEPS], log=tmp_path / "log", env=env, cwd=tmp_path)
    job = StruckJob(None, name, SimpleNamespace(current=Attempt(1, name, driver)), None)

    def kill(_):
        try:
            return job.kill_driver()
        except StackError as error:
            return str(error)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(kill, range(2)))
    assert [driver] in found
    assert any(isinstance(one, str) for one in found)


def test_two_faults_that_damage_one_checkpoint_kill_different_drivers(tmp_path):
    name, checkpoint = f"struck-damaged-{os.getpid()}", tmp_path / "checkpoint"
    for part in ("offsets/3", "commits/2", "commits/3"):
        (checkpoint / part).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / part).touch()
    commits = f"import time; time.sleep(0.3); open({str(checkpoint / 'commits/3')!r}, 'w'); "
    archive = SimpleNamespace(
        checkpoint=checkpoint, catch_up=lambda: None, accept_damage=lambda: None
    )
    supervisor = SimpleNamespace(starts_held=threading.Lock())
    job, drivers = StruckJob(None, name, supervisor, archive), []

    def begin():
        number = len(drivers) + 1
        env = {**os.environ, JOB: name, ATTEMPT: str(number)}
        command = [sys.executable, "-c", commits + SLEEPS]
        drivers.append(spawn(command, log=tmp_path / "log", env=env, cwd=tmp_path))
        supervisor.current = Attempt(number, name, drivers[-1])

    def restart():
        for _ in range(2):
            wait_for(lambda: not drivers[-1].is_alive, 30, "it does not end", every_s=0.001)
            with supervisor.starts_held:
                begin()

    begin()
    watcher = threading.Thread(target=restart)
    watcher.start()
    fault = FaultPart("damaged", "damage", "checkpoint:commit_lost", {}, {})
    scene = SimpleNamespace(job=job)
    try:
        with ThreadPoolExecutor(2) as pool:
            proofs = list(pool.map(lambda _: strike(fault, scene), range(2)))
        watcher.join()
        dead = [one["pid"] for proof in proofs for one in proof["dead"]]
        assert sorted(dead) == sorted(one.pid for one in drivers[:2])
        assert [proof["batch"] for proof in proofs] == [3, 3]
    finally:
        end_job(name)


def test_an_executor_that_outlives_its_driver_is_not_an_executor_of_the_job(tmp_path):
    name = f"struck-orphan-{os.getpid()}"
    env = {**os.environ, JOB: name, ATTEMPT: "1"}

    def begin(*words):
        command = [sys.executable, "-c", SLEEPS, *words]
        return spawn(command, log=tmp_path / "log", env=env, cwd=tmp_path)

    driver, executor = begin(), begin(EXECUTOR)
    supervisor = SimpleNamespace(current=Attempt(1, name, driver), rival=None)
    job = StruckJob(None, name, supervisor, None)
    try:
        wait_for(lambda: len(job.processes()) == 2, 30, "they do not begin")
        assert job.executors() == [executor]
        assert job.stop_driver() == [driver]
        assert executor.is_alive
        assert job.executors() == []
    finally:
        end_job(name)


def test_a_commit_counts_when_its_checksums_exist(tmp_path):
    job = StruckJob(None, "", None, SimpleNamespace(checkpoint=tmp_path))
    for name in ("offsets/0", "commits/0", "offsets/1", "commits/1"):
        write_file(tmp_path / name, "v1")
    assert job.newest() == (1, 1)
    (tmp_path / "commits/.1.crc").unlink()
    assert job.newest() == (1, 0)
    (tmp_path / "offsets/.1.crc").unlink()
    assert job.newest() == (1, 1)
