"""From a verb and a target to the one member that is meant, on every kind of stack alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from random import Random
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.kafka.security import Brokers, Security
from onceproof.stacks import CURES, Done, Member, Stack, Verb
from onceproof.stacks.members.airflow import Component
from onceproof.stacks.roles import NOBODY, find_role, is_role, pick

# Does the verb to the member of this name; calls what it is given last before it strikes.
Act = Callable[[str, Callable[[], None]], dict[str, Any]]


def aim(
    verb: Verb,
    target: str,
    rng: Random,
    *,
    names: Collection[str],
    living: Mapping[str, Member],
    brokers: int,
    act: Act,
    security: Security,
) -> Done:
    """Have the verb done to the member that the target names; a role's proof is the seat's move."""
    serving = {name: living[name] for name in living if living[name].kind == "broker"}
    role = find_role(target, _brokers(serving.values(), security))
    if role and verb in CURES:
        raise RequestError(f"{verb} takes a member, not a role: {target} is whoever leads now")
    seat = role.seat() if role else None
    name = f"broker:{seat.broker}" if seat else pick(target, names, living, rng)
    if seat and seat.broker == NOBODY:
        raise StackError(f"nobody leads {seat.of} now, so there is no {target} to {verb}")

    def refuse_moved() -> None:
        if role and role.seat() != seat:
            raise StackError(f"{target} was taken over meanwhile: nothing was struck; try again")

    proof = act(name, refuse_moved)
    if role and seat:
        others = [other for other in serving.values() if other.name != name]
        survivors = _brokers(others, security)
        has_majority = len(others) > brokers // 2
        proof["seat"] = role.moved(seat, survivors) if has_majority else seat.orphaned()
    return Done(verb, name, proof)


def _brokers(members: Iterable[Member], security: Security) -> Brokers:
    return Brokers(tuple(one.address for one in members), security)


def lacking(stack: Stack, verb: Verb, target: str, *more: Member) -> str:
    """Say why a stack cannot do a verb to a target, whoever lives; empty if it can.

    `more` are members that go by a name of their own and stand in no list.
    """
    kind, _, which = target.partition(":")
    is_any = which in ("any", "all") or is_role(target)
    known = {one.name: one for one in (*stack.members.values(), *more)}
    meant = [one for one in known.values() if one.name == target or (is_any and one.kind == kind)]
    if any(verb in one.verbs for one in meant):
        return ""
    has = "; ".join(f"{', '.join(one.verbs)} {one.name}" for one in known.values() if one.verbs)
    return f"the stack {stack.name} cannot {verb} {target}: it can {has or 'do nothing'}"


def healed(stack: Stack) -> None:
    """Start or resume each member of a stack whose processes are seen."""
    for member in stack.status():
        if not member.healthy and member.kind != Component.kind:
            stack.apply("resume" if member.pid else "start", member.name, Random(0))
