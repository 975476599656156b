"""From a verb and a target to the one member that is meant, on every kind of stack alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.stacks import CURES, Done, Member, Verb
from onceproof.stacks.roles import NOBODY, find_role, pick

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
) -> Done:
    """Have the verb done to the member that the target names; a role's proof is the seat's move."""
    serving = {name: living[name] for name in living if living[name].kind == "broker"}
    role = find_role(target, [broker.address for broker in serving.values()])
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
        survivors = [other.address for other in serving.values() if other.name != name]
        has_majority = len(survivors) > brokers // 2
        proof["seat"] = role.moved(seat, survivors) if has_majority else seat.orphaned()
    return Done(verb, name, proof)
