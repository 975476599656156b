"""Verbs on the links of a local stack, with the proxy's counts as the proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from random import Random
from typing import TYPE_CHECKING, Any, cast

from onceproof.errors import RequestError, StackError, unknown
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.machine.polling import wait_for
from onceproof.stacks import Stack
from onceproof.stacks.aiming import find_role, pick
from onceproof.stacks.links import ANYONE, Rule
from onceproof.stacks.links.member import Links, send_order

if TYPE_CHECKING:
    from onceproof.stacks.local.stack import LocalStack

BROKERS = "brokers"
# The sources of connections besides each broker's name; driver=RUN is the driver of one run.
SOURCES = (ANYONE, BROKERS, "clients", "driver", "executor", "producer")
ALL = "broker:all"
_EFFECT_WITHIN_S = 20.0


def lacks_links(stack: Stack) -> str:
    """Return why a stack's links cannot be disturbed; empty if they can."""
    from onceproof.stacks.local.stack import LocalStack  # not needed to read scenarios

    if isinstance(stack, LocalStack) and Links.name in stack.members:
        return ""
    remedy = "start it with --links" if isinstance(stack, LocalStack) else "use a local stack"
    return f"stack {stack.name} has no links to disturb; {remedy}"


def disturb(
    stack: Stack,
    rule: Rule,
    target: str,
    source: str,
    rng: Random,
    begun: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Put a rule in force on the links to a member; return the proof once it affects a connection.

    The rule comes without its pairs. The member's own connections to other brokers are included,
    unless the source is a kind of client. `begun` is called when the rule is in force; it lets
    waiting processes continue, so that they are affected. If no connection is affected in time, the
    rule is removed and `StackError` raised.
    """
    state, began = _linked(stack).state, time.monotonic()
    members = aimed_at(_linked(stack), target, rng)
    brokers = [f"broker:{i + 1}" for i in range(state.brokers)]
    pairs = tuple(dict.fromkeys(pair for one in members for pair in pairs_of(one, source, brokers)))
    rule = replace(rule, pairs=pairs)

    def effect() -> dict[str, Any] | None:
        orders = send_order(state, {"do": "look"})["in_force"]
        (counts,) = (one["counts"] for one in orders if one["rule"]["name"] == rule.name)
        return counts if any(counts.values()) else None

    send_order(state, {"do": "set", "rule": asdict(rule)})
    begun()
    try:
        message = f"{rule.do} {target} from {source} affected no connection"
        counts = wait_for(effect, _EFFECT_WITHIN_S, message)
    except BaseException:
        heal(stack, [rule.name])
        raise
    seconds = round(time.monotonic() - began, 3)
    return {"rule": asdict(rule), "members": members, "counts": counts, "seconds": seconds}


def heal(stack: Stack, names: Collection[str] = ()) -> list[dict[str, Any]]:
    """Remove rules, all if none is named, and return each with its counts.

    It may be repeated: a removed rule counts as healed, and so do all rules of a dead proxy.
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
    """Return the members whose links a target names: brokers, also by role, or the store."""
    state = stack.state
    names = [one.name for one in stack.members.values() if one.kind in ("broker", "store")]
    running = [one for one in names if (found := state.identity(one)) and found.is_alive]
    brokers = [one for one in names if one.startswith("broker:")]
    if target == ALL and brokers:
        return brokers
    addresses = tuple(stack.members[one].address for one in running if one in brokers)
    if role := find_role(target, Brokers(addresses, PLAIN)):
        number = role.seat().broker
        if f"broker:{number}" not in brokers:
            raise StackError(f"{target} has no leader now; try again")
        return [f"broker:{number}"]
    return [pick(target, names, running, rng)]


def pairs_of(member: str, source: str, brokers: Sequence[str]) -> list[tuple[str, str]]:
    """Return the (source, member) pairs of the connections between a member and a source."""
    if source not in (*SOURCES, *brokers) and not source.startswith(("driver=", "executor=")):
        raise RequestError(unknown("link source", source, (*SOURCES, *brokers)))
    others = [one for one in brokers if one != member] if member in brokers else []
    if source == member or (source in (BROKERS, *brokers) and not others):
        raise RequestError(f"{member} has no link with {source}; choose another source or target")
    if source == ANYONE:
        return [(ANYONE, member), *((member, one) for one in others)]
    if source == BROKERS or source in brokers:
        peers = others if source == BROKERS else [source]
        return [pair for one in peers for pair in ((one, member), (member, one))]
    return [(source, member)]


def _linked(stack: Stack) -> LocalStack:
    if reason := lacks_links(stack):
        raise RequestError(reason)
    return cast("LocalStack", stack)
