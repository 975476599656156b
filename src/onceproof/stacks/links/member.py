"""The links of a local stack: a member that stands before every listener of brokers and store.

Whoever connects to one of them goes through its process, which can cut, hold, slow or swallow what
passes. Without an order it changes nothing. Killing it cuts everybody from everybody.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.errors import StackError
from onceproof.machine.identity import Identity
from onceproof.stacks import VERBS
from onceproof.stacks.state import DOOR, LOOPBACK, Launch, State

_ANSWERS_WITHIN_S = 10.0


@dataclass(frozen=True)
class Links:
    """The process that the connections to a stack's listeners go through."""

    state: State

    kind = "links"
    name = "links"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def address(self) -> str:
        """Where it takes orders."""
        return f"{LOOPBACK}:{self.state.ports[self.name]}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        doors = [port for name, port in self.state.ports.items() if name.startswith(DOOR)]
        return [(LOOPBACK, port) for port in (self.state.ports[self.name], *doors)]

    def needs(self, living: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """It needs nobody."""
        return ""

    def remove_leftovers(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member: one."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Say what keeps it from serving: it takes no orders, or one is still in force."""
        try:
            rules = [order["rule"] for order in send_order(self.state, {"do": "look"})["in_force"]]
        except StackError as error:
            return str(error)
        return f"not healed: {'; '.join(map(describe, rules))}" if rules else ""


def launch(state: State) -> Launch:
    """Return how it is started."""
    place = state.place(Links.name)
    place.mkdir(exist_ok=True)
    argv = [sys.executable, "-m", "onceproof.stacks.links.proxy", str(state.folder)]
    return Launch(argv, {"PYTHONPATH": ":".join(sys.path)}, str(place))


def describe(rule: Mapping[str, Any]) -> str:
    """Return a rule in words."""
    return ", ".join(f"{rule['do']} {to} from {who}" for who, to in rule["pairs"])


def send_order(state: State, order: Mapping[str, Any]) -> dict[str, Any]:
    """Give the links an order, and return their answer."""
    place = (LOOPBACK, state.ports[Links.name])
    try:
        with socket.create_connection(place, timeout=_ANSWERS_WITHIN_S) as line:
            line.sendall(json.dumps(order).encode() + b"\n")
            with line.makefile("rb") as answers:
                answer: dict[str, Any] = json.loads(answers.readline())
    except (OSError, ValueError) as error:
        raise StackError(f"the links take no orders: {error}") from None
    return answer
