"""Whether a stack can do what the faults of a scenario need, asked before anything starts."""

from __future__ import annotations

from collections.abc import Iterable

from onceproof.errors import RequestError
from onceproof.failpoints import TASK
from onceproof.faults.registry import find_mechanism
from onceproof.runs.plan import FaultPart
from onceproof.stacks import Stack
from onceproof.stacks.links.verbs import lacks_links


def refuse_unable(stack: Stack, faults: Iterable[FaultPart]) -> None:
    """Raise `RequestError` with every fault that the stack cannot do, and what it can."""
    if said := list(dict.fromkeys(filter(None, (lacks(stack, fault) for fault in faults)))):
        raise RequestError("; ".join(said))


def needs_links(faults: Iterable[FaultPart]) -> bool:
    """Whether one of these faults strikes a link, so that the stack must have them."""
    return any(find_mechanism(fault.verb, fault.target).on_links for fault in faults)


def lacks(stack: Stack, fault: FaultPart) -> str:
    """Say why a stack cannot do a fault; empty if it can."""
    mechanism = find_mechanism(fault.verb, fault.target)
    if mechanism.on_links:
        return lacks_links(stack)
    if said := mechanism.lacks(stack, fault):
        return said
    in_task = fault.when.get("failpoint") in TASK
    if (in_task or fault.target in mechanism.in_executors) and not stack.runs_executors_here:
        return (
            f"{fault.name} strikes in an executor, and those of {stack.name} run on other machines,"
            " where nobody of ours can strike: write driver and a step of the driver, or run it on"
            " a local stack"
        )
    return ""
