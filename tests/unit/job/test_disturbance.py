"""One fault: a process at its failpoint must be alive when it strikes."""

import subprocess
import sys
import threading
from contextlib import nullcontext
from dataclasses import replace
from random import Random
from types import SimpleNamespace

from onceproof.failpoints import Failpoint
from onceproof.faults import Scene, kill_driver
from onceproof.job.disturb import Disturbance
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.plan import FaultPart

STEP = "from onceproof import failpoints; failpoints.reached('decided', {batch})"


def start_process_at_the_step(point, batch):
    """Start a process that waits at the failpoint."""
    env = {"ONCEPROOF_FAILPOINTS": str(point.folder)}
    return subprocess.Popen([sys.executable, "-c", STEP.format(batch=batch)], env=env)


def test_a_process_that_ended_before_is_not_struck_and_the_next_one_is(tmp_path, monkeypatch):
    run = RunDirectory(tmp_path)
    point = Failpoint("late", "decided", 3, run.failpoints)
    struck, waiting = [], []

    def strike(fault, scene):
        struck.append(scene.halted.pid)
        return {"dead": [{"pid": scene.halted.pid, "started": 1}]}

    mechanism = replace(kill_driver.MECHANISM, strike=strike)
    monkeypatch.setattr("onceproof.job.disturb.find_mechanism", lambda *_: mechanism)
    reached = Failpoint.reached

    def dies_at_first(self):
        found = reached(self)
        if found and len(waiting) == 1:  # another fault
            waiting[0].kill()
            waiting[0].wait()
            waiting.append(None)
        elif not found and waiting == [waiting[0], None]:
            waiting[1] = start_process_at_the_step(point, 4)
        return found

    monkeypatch.setattr(Failpoint, "reached", dies_at_first)
    point.arm()
    waiting.append(start_process_at_the_step(point, 3))
    history = History(tmp_path / "history.jsonl")
    archive = SimpleNamespace(newest=(4, 3), catch_up=lambda: None, lock=nullcontext())
    progress = SimpleNamespace(close=lambda: None)
    fault = FaultPart("late", "kill", "driver", {"failpoint": "decided", "batch": 3})
    scene = Scene(None, None, None, Random(7))
    stop = threading.Event()
    Disturbance(fault, run, scene, progress, archive, history, stop).carry_out()
    assert waiting[1].wait(10) == 0
    missed, landed = history.read()
    assert (missed.is_ok, missed.batch, landed.is_ok, landed.batch) == (False, 3, True, 4)
    assert missed.proof["reason"].startswith(f"process {missed.proof['pid']} at decided")
    assert struck == [waiting[1].pid]
