"""Kills, pauses or stops a member of the stack, and starts or resumes it as the cure."""

from __future__ import annotations

from onceproof.faults import TARGET, At, Draw, Mechanism, Need, Proof, Scene, Setting
from onceproof.faults.busy import WORKER, busy_worker
from onceproof.faults.checks import (
    SAYS_DEAD,
    SAYS_ENDED,
    SAYS_PAUSED,
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
    """Do the verb to the member that the target names."""
    done = scene.stack.apply(VERBS[fault.verb], run_target(fault, scene), scene.rng)
    return {**done.proof, "member": done.member}


def run_target(fault: FaultPart, scene: Scene) -> str:
    """Return a target as the stack takes it: `broker:leader=N` is that of the run's own topic.

    `broker:coordinator` is that of a transaction which is open in the run's output, `worker:busy`
    that of an executor of the job.
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
    """Start or resume the member that was struck; of a first process that is dead, all of it."""
    member = proof["member"]
    if fault.verb == "kill":
        member = member.removesuffix(_FIRST)
    done = scene.stack.apply(_CURES[fault.verb], member, scene.rng)
    return dict(done.proof)


def _is_the_target(case: Case) -> bool:
    return fits(case.proof["member"], case.fault.target)


def _has_moved(case: Case) -> bool:
    """Whether the seat of a role moved, or had no majority of brokers left to move it."""
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
    Check("`member` is one that the target names", _is_the_target),
    Check(
        "the signal of the verb was sent, and the member's process is among those `ended` or"
        " `paused`; a container's has the exit code of a kill; a member of an external stack"
        " served `before` and not `after`",
        lambda case: is_struck_member(case.proof, case.fault.verb),
    ),
    Check(
        "of a role, `seat` moved from this member to another broker in a higher epoch",
        _has_moved,
    ),
)
_CURED = (
    Check(
        "the member serves again: the same process after a pause, another one else",
        lambda case: is_cured_member(case.cure, case.proof, case.fault.verb),
    ),
)
_MOVED = "; another broker holds its seat, in a higher epoch"


def _stopped_alone(one: Setting) -> str:
    first = f"store{_FIRST}"
    if (one.verb, one.target) != ("stop", first):
        return ""
    return f"{first} cannot be stopped alone: write do: kill or do: pause, or target: store"


def _lacks(stack: Stack, fault: FaultPart) -> str:
    target = "worker:any" if fault.target == WORKER else fault.target
    return stack.lacks(VERBS[fault.verb], target)


MECHANISM = Mechanism(
    {"kill": SAYS_DEAD, "pause": SAYS_PAUSED, "stop": SAYS_ENDED},
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
