"""Damages the checkpoint of any job while it is down: files lost, cut or changed, or an older copy.

The driver is held still; where its newest batch is committed and no other is planned, it is killed
and the damage done before it is started again, else it goes on to the next. With the newest commit
lost the engine runs that batch again, with the same offsets, as it does after a crash between a
batch's effect and its commit: so no failpoint is needed in the job.
"""

from __future__ import annotations

import re
import signal

from onceproof.checkpoint.damage import MOST_TOLD, damage
from onceproof.checkpoint.damage_kinds import CHECKPOINT, KINDS
from onceproof.faults import (
    TARGET,
    WHEN,
    At,
    Draw,
    Ends,
    Mechanism,
    Need,
    Proof,
    Scene,
    Setting,
    told,
)
from onceproof.faults.checks import DRIVER_ENDED, Case, Check, whole
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart

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
        dead, changed = scene.job.while_down(lambda checkpoint: damage(checkpoint, kind, batch))
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


def _not_committed(one: Setting) -> str:
    if one.step == "commit_logged":
        return ""
    return "the newest batch must be committed by then: write failpoint: commit_logged"


def _has_no_state(one: Setting) -> str:
    if not one.stateless or not one.target.startswith(f"{CHECKPOINT}state_"):
        return ""
    said = f"{one.stateless} keeps no state that could be damaged"
    return f"{said}: write app_views, sliding_counts, or another kind of damage"


_COMMITTED = Need(WHEN, _not_committed)
LOSE = Mechanism(
    {"lose": "the driver's processes, dead, and the commit's files by size and sha256, gone"},
    ("commit",),
    strike,
    _PROVES,
    ends={"commit": Ends.CHECKPOINT},
    needs=(_COMMITTED,),
    draws=(Draw(2, "lose", "commit", At.COMMIT, order=22),),
)
_DAMAGED = {f"{CHECKPOINT}{name}": kind for name, kind in KINDS.items()}
DAMAGE = Mechanism(
    {"damage": "the driver's processes, dead, and each file by size and sha256, before and after"},
    tuple(_DAMAGED),
    strike,
    _PROVES,
    ends=dict.fromkeys(_DAMAGED, Ends.CHECKPOINT),
    needs=(_COMMITTED, Need(TARGET, _has_no_state)),
    draws=(Draw(1, "damage", "checkpoint:commits_lost", At.COMMIT, order=23),),
    disks={target: "checkpoint" for target, kind in _DAMAGED.items() if kind.is_of_disk},
    words={target: f"the checkpoint: {kind.about}" for target, kind in _DAMAGED.items()},
)
