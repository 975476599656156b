"""Damages the checkpoint of any job while it is down: files lost, cut or changed, or an older copy.

The driver is held still; where its newest batch is committed and no other is planned, it is killed
and the damage done before it is started again, else it goes on to the next. With the newest commit
lost the engine runs that batch again, with the same offsets, as it does after a crash between a
batch's effect and its commit: so no failpoint is needed in the job.
"""

from __future__ import annotations

import re
import signal

from onceproof.checkpoint.damage import MOST_TOLD
from onceproof.checkpoint.damage_kinds import CHECKPOINT, KINDS
from onceproof.faults import Mechanism, Proof, Scene, nothing_to_heal, told
from onceproof.faults.checks import DRIVER_ENDED, Case, Check, whole
from onceproof.machine.polling import wait_for
from onceproof.run.plan import FaultPart

_STANDS_STILL_WITHIN_S = 10.0
_COMES_WITHIN_S = 60.0


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Do the damage; the proof is who died, and each file by its bytes before and after."""
    kind = _kind(fault.verb, fault.target)
    least = max(fault.when.get("batch", 0), KINDS[kind].least)
    words = "no moment came at which a driver lived, its newest batch committed and none planned"
    return wait_for(lambda: _damage(scene, kind, least), _COMES_WITHIN_S, words, every_s=0.02)


def _kind(verb: str, target: str) -> str:
    return target.removeprefix(CHECKPOINT) if verb == "damage" else "commit_lost"


def _damage(scene: Scene, kind: str, least: int) -> Proof | None:
    """Do it if the moment is now; nobody else ends the driver between the look and the deed."""
    with scene.job.deaths:
        batch = _hold(scene, least)
        if batch is None:
            return None
        dead, changed = scene.job.damage(kind, batch)
    return {"dead": told(dead), "damage": kind, "batch": batch, **changed}


def _hold(scene: Scene, least: int) -> int | None:
    """Hold the driver still and return its newest batch, if that is committed; else let it go."""
    living = scene.job.driver()
    if not living or any(one.is_paused for one in living):
        return None  # it is only just started, or another fault holds it and lets it go again
    for one in living:
        one.send(signal.SIGSTOP)
    words = "the driver does not stand still"
    wait_for(
        lambda: all(one.is_paused or not one.is_alive for one in living),
        _STANDS_STILL_WITHIN_S,
        words,
        every_s=0.002,
    )
    planned, committed = scene.job.newest()
    if planned == committed >= least:
        return committed
    for one in living:
        one.send(signal.SIGCONT)
    return None


def _is_the_planned_damage(case: Case) -> bool:
    kind = case.proof["damage"]
    least = whole(case.proof["batch"]) >= KINDS[kind].least
    return bool(kind == _kind(case.fault.verb, case.fault.target)) and least


def _changed_files(case: Case) -> bool:
    files, changed = case.proof["files"], whole(case.proof["changed"], 1)
    is_other = all(
        one["before"] != one["after"]
        and all(told is None or re.fullmatch(_FILE, told) for told in one.values())
        for one in files.values()
    )
    return is_other and len(files) == min(changed, MOST_TOLD)


_FILE = r"\d+ bytes, [0-9a-f]{64}"
_PROVES = (
    *DRIVER_ENDED,
    Check("`damage` is the planned kind, of a batch that can have it", _is_the_planned_damage),
    Check(
        f"`files` names each file that `changed`, at most {MOST_TOLD}, with another size and sha256"
        " after than before, or null where there was none",
        _changed_files,
    ),
)
LOSE = Mechanism(("lose",), ("commit",), strike, nothing_to_heal, _PROVES)
DAMAGE = Mechanism(
    ("damage",), tuple(f"{CHECKPOINT}{kind}" for kind in KINDS), strike, nothing_to_heal, _PROVES
)
