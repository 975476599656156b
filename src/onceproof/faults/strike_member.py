"""Kills, pauses or stops a member of the stack, and starts or resumes it as the cure."""

from __future__ import annotations

from onceproof.faults import Mechanism, Proof, Scene
from onceproof.faults.busy import WORKER, busy_worker
from onceproof.faults.open_transaction import open_transaction
from onceproof.faults.strike_brokers import ALL
from onceproof.stacks import Verb
from onceproof.work import FaultPart

VERBS: dict[str, Verb] = {"kill": "kill", "pause": "pause", "stop": "stop"}
_CURES: dict[str, Verb] = {"kill": "start", "pause": "resume", "stop": "start"}
LEADER = "broker:leader="
COORDINATOR = "broker:coordinator"
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
        return f"{LEADER}{scene.work.workload.topic}/{target.removeprefix(LEADER)}"
    return target


def heal(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:
    """Start or resume the member that was struck; of a first process that is dead, all of it."""
    member = proof["member"]
    if fault.verb == "kill":
        member = member.removesuffix(_FIRST)
    done = scene.stack.apply(_CURES[fault.verb], member, scene.rng)
    return dict(done.proof)


MECHANISM = Mechanism(
    tuple(VERBS),
    ("broker:", "store", "store:postmaster", "worker:", "master"),
    strike,
    heal,
    but=(ALL,),
)
