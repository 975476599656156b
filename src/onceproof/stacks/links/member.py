"""The links of a local stack: a proxy member before every listener of the brokers and the store.

Every connection to them goes through its process, which can cut, delay, slow down or swallow it.
Without an order it changes nothing. Killing it cuts all connections.
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
    """The proxy process of all connections to a stack's listeners."""

    state: State

    kind = "links"
    name = "links"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def address(self) -> str:
        """The address of its control port."""
        return f"{LOOPBACK}:{self.state.ports[self.name]}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        doors = [port for name, port in self.state.ports.items() if name.startswith(DOOR)]
        return [(LOOPBACK, port) for port in (self.state.ports[self.name], *doors)]

    def needs(self, running: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """Return nothing: it needs no other member."""
        return ""

    def remove_leftovers(self) -> None:
        """Do nothing: no leftovers prevent a start."""

    def family(self, main: Identity | None) -> list[Identity]:
        """Return its processes: one."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Return why it is not healthy: it does not respond, or has a rule in force."""
        try:
            rules = [order["rule"] for order in send_order(self.state, {"do": "look"})["in_force"]]
        except StackError as error:
            return f"cannot be checked: {error}"
        return f"has rules in force: {'; '.join(map(describe, rules))}" if rules else ""


def launch(state: State) -> Launch:
    """Return its start command."""
    place = state.place(Links.name)
    place.mkdir(exist_ok=True)
    argv = [sys.executable, "-m", "onceproof.stacks.links.proxy", str(state.folder)]
    return Launch(argv, {"PYTHONPATH": ":".join(sys.path)}, str(place))


def describe(rule: Mapping[str, Any]) -> str:
    """Return a rule's effect and pairs as text."""
    return ", ".join(f"{rule['do']} {to} from {source}" for source, to in rule["pairs"])


def send_order(state: State, order: Mapping[str, Any]) -> dict[str, Any]:
    """Send an order to the proxy, and return its response."""
    place = (LOOPBACK, state.ports[Links.name])
    try:
        with socket.create_connection(place, timeout=_ANSWERS_WITHIN_S) as line:
            line.sendall(json.dumps(order).encode() + b"\n")
            with line.makefile("rb") as answers:
                answer: dict[str, Any] = json.loads(answers.readline())
    except (OSError, ValueError) as error:
        raise StackError(f"the links' proxy does not respond: {error}") from None
    return answer
