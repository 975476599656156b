"""From a verb and a target to the one member that is meant, on every kind of stack alike.

A role means whoever holds its seat now, and its proof is that the seat moved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from onceproof.errors import OnceproofError, RequestError, StackError
from onceproof.kafka.security import Brokers, Security
from onceproof.machine.polling import wait_for
from onceproof.stacks import CURES, Done, Member, Stack, Verb
from onceproof.stacks.members.airflow import Component
from onceproof.stacks.members.brokers import ask, metadata_quorum

# Does the verb to the member of this name; calls what it is given last before it strikes.
Act = Callable[[str, Callable[[], None]], dict[str, Any]]
_TRANSACTIONS = "__transaction_state"
_MOVES_WITHIN_S = 30
NO_LEADER = -1
_NO_SUCH_TOPIC = 3  # in Kafka's protocol


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
    if seat and seat.broker == NO_LEADER:
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


def heal_members(stack: Stack) -> None:
    """Start or resume each member of a stack whose processes are seen."""
    for member in stack.status():
        if not member.healthy and member.kind != Component.kind:
            stack.apply("resume" if member.pid else "start", member.name, Random(0))


@dataclass(frozen=True)
class Seat:
    """Who leads something, and in which epoch: a seat that was taken over has a higher one."""

    of: str
    broker: int
    epoch: int

    def orphaned(self) -> dict[str, Any]:
        """Return the proof where no majority is left that could give the seat to another."""
        return {"before": asdict(self), "after": None, "reason": "no majority of brokers is left"}


@dataclass(frozen=True)
class Role:
    """One role of a target: `controller`, `leader=TOPIC/PARTITION`, `coordinator=ID`."""

    text: str
    brokers: Brokers

    def seat(self) -> Seat:
        """Ask the brokers who holds the seat now."""
        from kafka.errors import KafkaError

        kind, _, rest = self.text.partition("=")
        if not self.brokers.addresses:
            raise RequestError(f"broker:{self.text}: no broker lives to say who that is; start one")
        try:
            return ask(self.brokers, lambda client: _SEATS[kind](client, rest))
        except KafkaError as error:
            said = f"the brokers do not say who is broker:{self.text}"
            raise StackError(f"{said}: {type(error).__name__} {error}") from error

    def moved(self, before: Seat, survivors: Brokers) -> dict[str, Any]:
        """Wait until a survivor says that another broker holds the seat; return both as proof."""
        others = replace(self, brokers=survivors)
        began = time.monotonic()
        said = "the seat was still held"

        def look() -> Seat | None:
            nonlocal said
            try:
                now = others.seat()
            except OnceproofError as error:  # an election is on, and brokers say so in many ways
                said = str(error)
                return None
            taken = now.broker not in (before.broker, NO_LEADER) and now.epoch > before.epoch
            return now if taken else None

        try:
            after = wait_for(look, _MOVES_WITHIN_S, f"{before.of} was not taken over")
        except StackError as error:
            raise StackError(f"{error}; last seen: {said}") from None
        seconds = round(time.monotonic() - began, 3)
        return {"before": asdict(before), "after": asdict(after), "seconds": seconds}


def _controller(client: Any, rest: str) -> Seat:
    if rest:
        raise RequestError(f"'controller={rest}' takes no value: write broker:controller")
    quorum = metadata_quorum(client)
    return Seat("the controllers' quorum", quorum["leader_id"], quorum["leader_epoch"])


def _leader(client: Any, rest: str) -> Seat:
    topic, _, number = rest.rpartition("/")
    if not topic or not number.isdigit():
        raise RequestError(f"'leader={rest}' names no partition: write broker:leader=TOPIC/0")
    for partition in _partitions(client, topic):
        if partition["partition_index"] == int(number):
            return Seat(f"{topic}/{number}", partition["leader_id"], partition["leader_epoch"])
    raise RequestError(f"topic {topic!r} has no partition {number}: partitions begin with 0")


def _coordinator(client: Any, rest: str) -> Seat:
    """The coordinator of a transactional id leads the id's partition of Kafka's own topic."""
    if not rest:
        raise RequestError("'coordinator=' names no id: write broker:coordinator=TRANSACTIONAL_ID")
    count = len(_partitions(client, _TRANSACTIONS))
    return _leader(client, f"{_TRANSACTIONS}/{(java_hash(rest) & 0x7FFFFFFF) % count}")


def _partitions(client: Any, topic: str) -> list[dict[str, Any]]:
    (found,) = client.describe_topics([topic])
    if found["error_code"] != _NO_SUCH_TOPIC and found["error_code"]:
        raise StackError(f"the brokers answer for topic {topic!r} with {found['error_code']}")
    if found["error_code"]:
        made = "; it is made with the first transaction" if topic == _TRANSACTIONS else ""
        raise RequestError(f"there is no topic {topic!r}{made}: create it before naming it")
    partitions: list[dict[str, Any]] = found["partitions"]
    return partitions


def java_hash(text: str) -> int:
    """Return what Java's `String.hashCode` returns."""
    value = 0
    raw = text.encode("utf-16-be")
    for high, low in zip(raw[::2], raw[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


_SEATS: dict[str, Callable[[Any, str], Seat]] = {
    "controller": _controller,
    "leader": _leader,
    "coordinator": _coordinator,
}


def is_role(target: str) -> bool:
    """Whether a target names a role, not a member."""
    kind, _, role = target.partition(":")
    return kind == "broker" and role.partition("=")[0] in _SEATS


def find_role(target: str, brokers: Brokers) -> Role | None:
    """Return the role that a target names, or None if it names a member."""
    return Role(target.partition(":")[2], brokers) if is_role(target) else None


def pick(target: str, names: Collection[str], living: Collection[str], rng: Random) -> str:
    """Return the member that a target without a role names; `KIND:any` is one that lives."""
    if target in names:
        return target
    kind, _, rest = target.partition(":")
    alive = sorted(name for name in living if name.startswith(f"{kind}:"))
    if rest == "any" and alive:
        return rng.choice(alive)
    if rest == "any" and any(name.startswith(f"{kind}:") for name in names):
        raise RequestError(f"{target}: no {kind} lives to choose from; start one first")
    raise RequestError(
        f"this stack has no member {target!r}: its members are {', '.join(names)}; brokers also go "
        "by broker:any, broker:controller, broker:leader=TOPIC/0, broker:coordinator=ID, workers "
        "by worker:any"
    )
