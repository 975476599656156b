"""Damages the checkpoint of any job while it is down: files lost, cut or changed, or an older copy.

The driver is paused. If its newest batch is committed and no later batch is planned, it is killed,
and the checkpoint is damaged before the next attempt; otherwise it is resumed and the strike tries
again. Spark runs a batch whose commit is lost again with the same offsets, as after a crash between
the batch's effect and its commit, so the job needs no failpoint for that.
"""

from __future__ import annotations

import re
import signal

from onceproof.checkpoint.damage import MAX_LISTED, damage
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
    to_proof,
)
from onceproof.faults.checks import DRIVER_ENDED, Case, Check, whole
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart

_PAUSES_WITHIN_S = 10.0
_COMES_WITHIN_S = 60.0


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Do the damage; the proof is the dead driver, and each file's size and digest both times."""
    kind = _kind(fault.verb, fault.target)
    least = max(fault.when.get("batch", 0), KINDS[kind].least)
    words = "no driver was found with its newest batch committed and no batch planned"
    return wait_for(lambda: _damage(scene, kind, least), _COMES_WITHIN_S, words, every_s=0.02)


def _kind(verb: str, target: str) -> str:
    return target.removeprefix(CHECKPOINT) if verb == "damage" else "commit_lost"


def _damage(scene: Scene, kind: str, least: int) -> Proof | None:
    with scene.job.deaths:  # no other fault ends the driver between the check and the damage
        batch = _hold(scene, least)
        if batch is None:
            return None
        dead, changed = scene.job.while_down(lambda checkpoint: damage(checkpoint, kind, batch))
    return {"dead": to_proof(dead), "damage": kind, "batch": batch, **changed}


def _hold(scene: Scene, least: int) -> int | None:
    """Pause the driver and return its newest batch if that is committed, else resume the driver."""
    living = scene.job.driver()
    if not living or any(one.is_paused for one in living):
        return None  # it is starting, or another fault has paused it and will resume it
    for one in living:
        one.send(signal.SIGSTOP)
    words = "the driver does not pause on SIGSTOP"
    wait_for(
        lambda: all(one.is_paused or not one.is_alive for one in living),
        _PAUSES_WITHIN_S,
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
        and all(file is None or re.fullmatch(_FILE, file) for file in one.values())
        for one in files.values()
    )
    return is_other and len(files) == min(changed, MAX_LISTED)


_FILE = r"\d+ bytes, [0-9a-f]{64}"
_PROVES = (
    *DRIVER_ENDED,
    Check("`damage` is the planned kind, at a batch that allows it", _is_the_planned_damage),
    Check(
        f"`files` lists each file that `changed`, at most {MAX_LISTED}, with different size and"
        " sha256 before and after, or null if it did not exist",
        _changed_files,
    ),
)


def _not_committed(one: Setting) -> str:
    if one.step == "commit_logged":
        return ""
    return "the newest batch must be committed; write failpoint: commit_logged"


def _has_no_state(one: Setting) -> str:
    if not one.stateless or not one.target.startswith(f"{CHECKPOINT}state_"):
        return ""
    use = "use app_views, sliding_counts, or another kind of damage"
    return f"{one.stateless} keeps no state to damage; {use}"


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
