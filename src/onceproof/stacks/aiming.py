"""Resolution of a verb's target to one member, the same for every kind of stack.

A role stands for the broker that has it now. The proof of a strike on a role includes that the role
moved to another broker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from onceproof.errors import OnceproofError, RequestError, StackError, invalid, unknown
from onceproof.kafka.security import Brokers, Security
from onceproof.machine.polling import wait_for
from onceproof.stacks import CURES, Done, Member, Stack, Verb
from onceproof.stacks.members.airflow import Component
from onceproof.stacks.members.brokers import ask, metadata_quorum

# Does the verb to the member with this name; calls the given function just before it strikes.
Act = Callable[[str, Callable[[], None]], dict[str, Any]]
_TRANSACTIONS = "__transaction_state"
_MOVES_WITHIN_S = 30
NO_LEADER = -1
_ROLES = ("broker:controller", "broker:leader=TOPIC/0", "broker:coordinator=ID")
_ANY = ("broker:any", "worker:any")
_NO_SUCH_TOPIC = 3  # in Kafka's protocol


def aim(
    verb: Verb,
    target: str,
    rng: Random,
    *,
    names: Collection[str],
    running: Mapping[str, Member],
    brokers: int,
    act: Act,
    security: Security,
) -> Done:
    """Do the verb to the target's member; a role's proof includes that the role moved."""
    serving = {name: running[name] for name in running if running[name].kind == "broker"}
    role = find_role(target, _brokers(serving.values(), security))
    if role and verb in CURES:
        raise RequestError(f"cannot {verb} the role {target}; name a member, such as broker:1")
    seat = role.seat() if role else None
    name = f"broker:{seat.broker}" if seat else pick(target, names, running, rng)
    if seat and seat.broker == NO_LEADER:
        raise StackError(f"cannot {verb} {target}: {seat.of} has no leader now; try again")

    def refuse_moved() -> None:
        if role and role.seat() != seat:
            raise StackError(f"{target} moved to another broker before the strike; try again")

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
    """Return why a stack can never do a verb to a target; empty if it can.

    `more` are members that are not in `stack.members`.
    """
    kind, _, which = target.partition(":")
    is_any = which in ("any", "all") or is_role(target)
    members = {one.name: one for one in (*stack.members.values(), *more)}
    aimed = [one for one in members.values() if one.name == target or (is_any and one.kind == kind)]
    if any(verb in one.verbs for one in aimed):
        return ""
    can = "; ".join(f"{', '.join(one.verbs)} {one.name}" for one in members.values() if one.verbs)
    return f"stack {stack.name} cannot {verb} {target}; it can {can or 'do nothing'}"


def heal_members(stack: Stack) -> None:
    """Start or resume each unhealthy member of a local or composed stack, except Airflow's."""
    for member in stack.status():
        if not member.healthy and member.kind != Component.kind:
            stack.apply("resume" if member.pid else "start", member.name, Random(0))


@dataclass(frozen=True)
class Seat:
    """The leader of something and its epoch, which increases when another broker takes over."""

    of: str
    broker: int
    epoch: int

    def orphaned(self) -> dict[str, Any]:
        """Return the proof when too few brokers are left to elect another leader."""
        return {"before": asdict(self), "after": None, "reason": "no majority of brokers is left"}


@dataclass(frozen=True)
class Role:
    """A broker role: `controller`, `leader=TOPIC/PARTITION` or `coordinator=ID`."""

    text: str
    brokers: Brokers

    def seat(self) -> Seat:
        """Return the role's current leader, from the brokers."""
        from kafka.errors import KafkaError

        kind, _, rest = self.text.partition("=")
        if not self.brokers.addresses:
            raise RequestError(
                f"cannot resolve broker:{self.text}: no broker is running; start one"
            )
        try:
            return ask(self.brokers, lambda client: _SEATS[kind](client, rest))
        except KafkaError as error:
            reason = f"{type(error).__name__} {error}"
            raise StackError(f"cannot resolve broker:{self.text}: {reason}") from error

    def moved(self, before: Seat, survivors: Brokers) -> dict[str, Any]:
        """Wait until a survivor reports another leader; return both leaders as proof."""
        others = replace(self, brokers=survivors)
        began = time.monotonic()
        last_error = "the leader was unchanged"

        def look() -> Seat | None:
            nonlocal last_error
            try:
                now = others.seat()
            except OnceproofError as error:  # during an election brokers raise many errors
                last_error = str(error)
                return None
            taken = now.broker not in (before.broker, NO_LEADER) and now.epoch > before.epoch
            return now if taken else None

        try:
            after = wait_for(look, _MOVES_WITHIN_S, f"{before.of} got no new leader")
        except StackError as error:
            raise StackError(f"{error}: {last_error}") from None
        seconds = round(time.monotonic() - began, 3)
        return {"before": asdict(before), "after": asdict(after), "seconds": seconds}


def _controller(client: Any, rest: str) -> Seat:
    if rest:
        raise RequestError(invalid("role", f"controller={rest}", "broker:controller"))
    quorum = metadata_quorum(client)
    return Seat("the controllers' quorum", quorum["leader_id"], quorum["leader_epoch"])


def _leader(client: Any, rest: str) -> Seat:
    topic, _, number = rest.rpartition("/")
    if not topic or not number.isdigit():
        raise RequestError(invalid("role", f"leader={rest}", "broker:leader=TOPIC/PARTITION"))
    for partition in _partitions(client, topic):
        if partition["partition_index"] == int(number):
            return Seat(f"{topic}/{number}", partition["leader_id"], partition["leader_epoch"])
    raise RequestError(f"topic {topic!r} has no partition {number}; partitions start at 0")


def _coordinator(client: Any, rest: str) -> Seat:
    if not rest:
        use = "broker:coordinator=TRANSACTIONAL_ID"
        raise RequestError(invalid("role", "coordinator=", use))
    # The coordinator is the leader of the id's partition of Kafka's own topic.
    count = len(_partitions(client, _TRANSACTIONS))
    return _leader(client, f"{_TRANSACTIONS}/{(java_hash(rest) & 0x7FFFFFFF) % count}")


def _partitions(client: Any, topic: str) -> list[dict[str, Any]]:
    (found,) = client.describe_topics([topic])
    if found["error_code"] != _NO_SUCH_TOPIC and found["error_code"]:
        raise StackError(f"cannot describe topic {topic!r}: Kafka error {found['error_code']}")
    if found["error_code"] and topic == _TRANSACTIONS:
        raise RequestError(f"topic {topic!r} does not exist; run a first transaction to create it")
    if found["error_code"]:
        raise RequestError(f"topic {topic!r} does not exist; create it first")
    partitions: list[dict[str, Any]] = found["partitions"]
    return partitions


def java_hash(text: str) -> int:
    """Return the text's hash as computed by Java's `String.hashCode`."""
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
    """Return whether a target is a role, not a member."""
    kind, _, role = target.partition(":")
    return kind == "broker" and role.partition("=")[0] in _SEATS


def find_role(target: str, brokers: Brokers) -> Role | None:
    """Return a target's role, or None if the target is a member."""
    return Role(target.partition(":")[2], brokers) if is_role(target) else None


def pick(target: str, names: Collection[str], running: Collection[str], rng: Random) -> str:
    """Return the member of a target that is no role; for `KIND:any`, a running one."""
    if target in names:
        return target
    kind, _, rest = target.partition(":")
    alive = sorted(name for name in running if name.startswith(f"{kind}:"))
    if rest == "any" and alive:
        return rng.choice(alive)
    if rest == "any" and any(name.startswith(f"{kind}:") for name in names):
        raise RequestError(f"{target}: no {kind} is running; start one first")
    raise RequestError(unknown("member", target, (*names, *_ANY, *_ROLES)))
