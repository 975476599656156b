"""What can be done to the links of a local stack, with the links' own counts as the proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from random import Random
from typing import TYPE_CHECKING, Any, cast

from onceproof.errors import RequestError, StackError
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.machine.polling import wait_for
from onceproof.stacks import Stack
from onceproof.stacks.aiming import find_role, pick
from onceproof.stacks.links import ANYONE, Rule
from onceproof.stacks.links.member import Links, send_order

if TYPE_CHECKING:
    from onceproof.stacks.local.stack import LocalStack

BROKERS = "brokers"
# Who connects: a broker by its name, or one of these; the driver of one run alone is driver=RUN.
SOURCES = (ANYONE, BROKERS, "clients", "driver", "executor", "producer")
ALL = "broker:all"
_FELT_WITHIN_S = 20.0


def lacks_links(stack: Stack) -> str:
    """Say why nothing can be done to the links of a stack; empty if it can."""
    from onceproof.stacks.local.stack import LocalStack  # scenarios are read without it

    if isinstance(stack, LocalStack) and Links.name in stack.members:
        return ""
    how = "bring it up with --links" if isinstance(stack, LocalStack) else "take a local stack"
    return f"the stack {stack.name} has no links that could be struck: {how}"


def disturb(
    stack: Stack,
    rule: Rule,
    target: str,
    who: str,
    rng: Random,
    begun: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Let a rule hold on the links to a member, and return the proof once somebody has felt it.

    The rule comes without its pairs. What the member itself opens to other brokers is meant too,
    unless clients alone are. `begun` is called when the rule holds: who waited for that goes on,
    and feels it. Where nobody does, the rule is taken back, and that raises.
    """
    state, began = _linked(stack).state, time.monotonic()
    members = aimed_at(_linked(stack), target, rng)
    brokers = [f"broker:{i + 1}" for i in range(state.brokers)]
    pairs = tuple(dict.fromkeys(pair for one in members for pair in pairs_of(one, who, brokers)))
    rule = replace(rule, pairs=pairs)

    def felt() -> dict[str, Any] | None:
        orders = send_order(state, {"do": "look"})["in_force"]
        (counts,) = (one["counts"] for one in orders if one["rule"]["name"] == rule.name)
        return counts if any(counts.values()) else None

    send_order(state, {"do": "set", "rule": asdict(rule)})
    begun()
    try:
        counts = wait_for(felt, _FELT_WITHIN_S, f"nobody felt {rule.do} {target} from {who}")
    except BaseException:
        heal(stack, [rule.name])
        raise
    seconds = round(time.monotonic() - began, 3)
    return {"rule": asdict(rule), "members": members, "counts": counts, "seconds": seconds}


def heal(stack: Stack, names: Collection[str] = ()) -> list[dict[str, Any]]:
    """Take rules back, all that there are if none is named, and return each with its counts.

    It may be repeated: a rule that is gone, or links that have died with all of theirs, are healed.
    """
    if lacks_links(stack):
        return []
    state = _linked(stack).state
    main = state.identity(Links.name)
    if main is None or not main.is_alive:
        return []
    healed: list[dict[str, Any]] = send_order(state, {"do": "heal", "names": list(names)})["healed"]
    return healed


def aimed_at(stack: LocalStack, target: str, rng: Random) -> list[str]:
    """Return the members whose links a target means: brokers by their role too, and the store."""
    state = stack.state
    names = [one.name for one in stack.members.values() if one.kind in ("broker", "store")]
    living = [one for one in names if (found := state.identity(one)) and found.is_alive]
    brokers = [one for one in names if one.startswith("broker:")]
    if target == ALL and brokers:
        return brokers
    addresses = tuple(stack.members[one].address for one in living if one in brokers)
    if role := find_role(target, Brokers(addresses, PLAIN)):
        number = role.seat().broker
        if f"broker:{number}" not in brokers:
            raise StackError(f"nobody leads {target} now, so there are no links of it")
        return [f"broker:{number}"]
    return [pick(target, names, living, rng)]


def pairs_of(member: str, who: str, brokers: Sequence[str]) -> list[tuple[str, str]]:
    """Return who connects to whom where a member is struck on its links with somebody."""
    if who not in (*SOURCES, *brokers) and not who.startswith(("driver=", "executor=")):
        known = ", ".join((*SOURCES, *brokers))
        raise RequestError(f"nobody is called {who!r} who could connect: write one of {known}")
    others = [one for one in brokers if one != member] if member in brokers else []
    if who == member or (who in (BROKERS, *brokers) and not others):
        raise RequestError(f"{member} has no link with {who}: write another of the two")
    if who == ANYONE:
        return [(ANYONE, member), *((member, one) for one in others)]
    if who == BROKERS or who in brokers:
        fellows = others if who == BROKERS else [who]
        return [pair for one in fellows for pair in ((one, member), (member, one))]
    return [(who, member)]


def _linked(stack: Stack) -> LocalStack:
    if said := lacks_links(stack):
        raise RequestError(said)
    return cast("LocalStack", stack)
