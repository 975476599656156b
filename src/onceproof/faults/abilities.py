"""Checks that a stack supports the faults of a scenario, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable

from onceproof.errors import RequestError
from onceproof.failpoints import TASK
from onceproof.faults.registry import find_mechanism
from onceproof.runs.plan import FaultPart
from onceproof.stacks import Stack
from onceproof.stacks.links.verbs import lacks_links


def refuse_unable(stack: Stack, faults: Iterable[FaultPart]) -> None:
    """Raise `RequestError` with every fault that the stack does not support, and why."""
    if reasons := list(dict.fromkeys(filter(None, (lacks(stack, fault) for fault in faults)))):
        raise RequestError("; ".join(reasons))


def needs_links(faults: Iterable[FaultPart]) -> bool:
    """Whether one of these faults strikes a link, so that the stack must have links."""
    return any(find_mechanism(fault.verb, fault.target).on_links for fault in faults)


def lacks(stack: Stack, fault: FaultPart) -> str:
    """Return why a stack does not support a fault; empty if it does."""
    mechanism = find_mechanism(fault.verb, fault.target)
    if mechanism.on_links:
        return lacks_links(stack)
    if reason := mechanism.lacks(stack, fault):
        return reason
    in_task = fault.when.get("failpoint") in TASK
    if (in_task or fault.target in mechanism.in_executors) and not stack.runs_executors_here:
        return (
            f"{fault.name} strikes an executor, but those of stack {stack.name} run on other"
            " machines; strike the driver at a step of the driver, or use a local stack"
        )
    return ""
