"""Kills, pauses or stops a member of the stack, and starts or resumes it as the cure."""

from __future__ import annotations

from onceproof.faults import TARGET, At, Draw, Mechanism, Need, Proof, Scene, Setting
from onceproof.faults.busy import WORKER, busy_worker
from onceproof.faults.checks import (
    PROOF_DEAD,
    PROOF_ENDED,
    PROOF_PAUSED,
    Case,
    Check,
    fits,
    is_cured_member,
    is_struck_member,
    whole,
)
from onceproof.faults.needs import RUNNING_TASK, TRANSACTIONS
from onceproof.faults.open_transaction import open_transaction
from onceproof.faults.strike_brokers import ALL
from onceproof.runs.plan import FaultPart
from onceproof.stacks import Stack, Verb

VERBS: dict[str, Verb] = {"kill": "kill", "pause": "pause", "stop": "stop"}
_CURES: dict[str, Verb] = {"kill": "start", "pause": "resume", "stop": "start"}
LEADER = "broker:leader="
COORDINATOR = "broker:coordinator"
CONTROLLER = "broker:controller"
_FIRST = ":postmaster"


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Apply the verb to the member that the target refers to."""
    done = scene.stack.apply(VERBS[fault.verb], run_target(fault, scene), scene.rng)
    return {**done.proof, "member": done.member}


def run_target(fault: FaultPart, scene: Scene) -> str:
    """Return a target in the form that the stack accepts.

    `broker:leader=N` becomes that of the run's own topic, `broker:coordinator` that of a
    transaction open in the run's output, and `worker:busy` the worker of a busy executor.
    """
    target = fault.target
    if target == WORKER:
        return busy_worker(scene)
    if target == COORDINATOR:
        return f"{COORDINATOR}={open_transaction(scene)}"
    if target.startswith(LEADER) and "/" not in target:
        return f"{LEADER}{scene.plan.input.topic}/{target.removeprefix(LEADER)}"
    return target


def heal(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:
    """Start or resume the struck member; if its first process was killed, start all of it."""
    member = proof["member"]
    if fault.verb == "kill":
        member = member.removesuffix(_FIRST)
    done = scene.stack.apply(_CURES[fault.verb], member, scene.rng)
    return dict(done.proof)


def _is_the_target(case: Case) -> bool:
    return fits(case.proof["member"], case.fault.target)


def _has_moved(case: Case) -> bool:
    """Whether the role moved to another broker, or could not for want of a majority of brokers."""
    if not case.fault.target.startswith((LEADER, COORDINATOR, CONTROLLER)):
        return "seat" not in case.proof
    before, after = (case.proof["seat"][name] for name in ("before", "after"))
    _, is_leader, which = case.fault.target.partition(LEADER)
    wanted = which if "/" in which else f"{case.topic}/{which}"
    if case.proof["member"] != f"broker:{whole(before['broker'])}" or not before["of"]:
        return False
    if is_leader and before["of"] != wanted:
        return False
    if after is None:
        return bool(case.proof["seat"]["reason"])
    is_other = whole(after["broker"]) != before["broker"] and after["of"] == before["of"]
    return is_other and whole(after["epoch"]) > whole(before["epoch"])


_PROVES = (
    Check("`member` is one that the target refers to", _is_the_target),
    Check(
        "the signal of the verb was sent, and the member's process is among those `ended` or"
        " `paused`; a killed container has the exit code of a kill; a member of an external stack"
        " served `before` and not `after`",
        lambda case: is_struck_member(case.proof, case.fault.verb),
    ),
    Check(
        "for a role, `seat` moved from this member to another broker in a higher epoch",
        _has_moved,
    ),
)
_CURED = (
    Check(
        "the member serves again: with the same process after a pause, otherwise with a new one",
        lambda case: is_cured_member(case.cure, case.proof, case.fault.verb),
    ),
)
_MOVED = "; another broker has its role, in a higher epoch"


def _stopped_alone(one: Setting) -> str:
    first = f"store{_FIRST}"
    if (one.verb, one.target) != ("stop", first):
        return ""
    return f"{first} cannot be stopped alone; use do: kill or do: pause, or target: store"


def _lacks(stack: Stack, fault: FaultPart) -> str:
    target = "worker:any" if fault.target == WORKER else fault.target
    return stack.lacks(VERBS[fault.verb], target)


MECHANISM = Mechanism(
    {"kill": PROOF_DEAD, "pause": PROOF_PAUSED, "stop": PROOF_ENDED},
    ("broker:", "store", "store:postmaster", "worker:", "master"),
    strike,
    _PROVES,
    heal,
    _CURED,
    needs=(*TRANSACTIONS, RUNNING_TASK, Need(TARGET, _stopped_alone)),
    lacks=_lacks,
    in_executors=(WORKER,),
    draws=(
        Draw(2, "kill", "broker:any", At.SHARE, order=12),
        Draw(2, "kill", "broker:leader={partition}", At.SHARE, order=13),
        Draw(1, "kill", "broker:controller", At.SHARE, order=14),
        Draw(1, "pause", "broker:any", At.SHARE, order=15),
        Draw(1, "stop", "broker:any", At.SHARE, order=16),
        Draw(1, "kill", "worker:any", At.SHARE, order=18),
        Draw(2, "kill", "store", At.SHARE, "postgresql", order=20),
        Draw(1, "pause", "store", At.SHARE, "postgresql", order=21),
    ),
    but=(ALL,),
    also={CONTROLLER: _MOVED, LEADER: _MOVED, COORDINATOR: _MOVED},
)
