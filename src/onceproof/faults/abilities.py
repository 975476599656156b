"""Whether a stack can do what the faults of a scenario need, asked before anything starts."""

from __future__ import annotations

from collections.abc import Iterable

from onceproof.errors import RequestError
from onceproof.failpoints import TASK
from onceproof.faults import (
    disturb_links,
    find_mechanism,
    kill_executor,
    strike_brokers,
    strike_member,
)
from onceproof.faults.busy import WORKER
from onceproof.run.plan import FaultPart
from onceproof.stacks import Stack
from onceproof.stacks.links.verbs import lacks_links

_IN_EXECUTORS = (*kill_executor.TARGETS, WORKER, "task")


def refuse_unable(stack: Stack, faults: Iterable[FaultPart]) -> None:
    """Raise `RequestError` with every fault that the stack cannot do, and what it can."""
    if said := list(dict.fromkeys(filter(None, (lacks(stack, fault) for fault in faults)))):
        raise RequestError("; ".join(said))


def lacks(stack: Stack, fault: FaultPart) -> str:
    """Say why a stack cannot do a fault; empty if it can."""
    mechanism = find_mechanism(fault.verb, fault.target)
    if mechanism is disturb_links.MECHANISM:
        return lacks_links(stack)
    if mechanism in (strike_member.MECHANISM, strike_brokers.MECHANISM, strike_brokers.RESTART):
        target = "worker:any" if fault.target == WORKER else fault.target
        if said := stack.lacks(strike_member.VERBS.get(fault.verb, "stop"), target):
            return said
    is_there = fault.target in _IN_EXECUTORS or fault.when.get("failpoint") in TASK
    needs_executors = is_there or fault.verb == "rescale"
    if needs_executors and not stack.runs_executors_here:
        return (
            f"{fault.name} strikes in an executor, and those of {stack.name} run on other machines,"
            " where nobody of ours can strike: write driver and a step of the driver, or run it on"
            " a local stack"
        )
    return ""
