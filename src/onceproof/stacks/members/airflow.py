"""Airflow's four components, each a process of its own beside the system under test."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from onceproof.machine.identity import Identity, everyone
from onceproof.stacks import VERBS
from onceproof.stacks.state import State

PARTS = ("api-server", "scheduler", "dag-processor", "triggerer")
PORTS = ("airflow",)


@dataclass(frozen=True)
class Component:
    """One component; the scheduler is its workers and their tasks too."""

    state: State
    part: str

    kind = "airflow"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def name(self) -> str:
        """`airflow:scheduler` and so on."""
        return f"airflow:{self.part}"

    @property
    def address(self) -> str:
        """Where people and clients reach Airflow."""
        host, port = self.server
        return f"http://{host}:{port}"

    @property
    def server(self) -> tuple[str, int]:
        """Host and port of the server, which tells of all of them."""
        return self.state.host(f"airflow:{PARTS[0]}"), self.state.ports["airflow"]

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        return [self.server] if self.part == PARTS[0] else []

    def needs(self, living: Collection[str]) -> str:
        """The server tells of all of them."""
        return "" if self.part == "api-server" or "airflow:api-server" in living else "its server"

    def make_way(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The component, and all that it forked; what a task has set going apart is not in it."""
        first = [main] if main and main.is_alive else []
        if main is None:
            return first
        return first + [one for one in everyone() if one != main and one.session == main.pid]

    def trouble(self) -> str:
        """Say what keeps it from serving, as Airflow's health page tells it."""
        try:
            with urllib.request.urlopen(f"{self.address}/api/v2/monitor/health", timeout=5) as page:  # noqa: S310
                health: dict[str, Any] = json.load(page)
        except (OSError, ValueError) as error:
            return f"Airflow's health page does not answer: {error}"
        found = health.get(self.part.replace("-", "_"), health["metadatabase"])
        return "" if found["status"] == "healthy" else f"it is {found['status'] or 'not heard of'}"
