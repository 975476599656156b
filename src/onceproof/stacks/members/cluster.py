"""Spark standalone: a master, and workers on loopback addresses of their own.

Spark places a speculative copy only on another host, so each worker is one: 127.0.0.1, 127.0.0.2.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from onceproof.machine.identity import Identity
from onceproof.stacks import VERBS
from onceproof.stacks.state import State

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


@dataclass(frozen=True)
class Master:
    """The one Spark master of the stack."""

    state: State

    kind = "master"
    name = "master"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def address(self) -> str:
        """The URL that drivers and workers are given."""
        return f"spark://{self.state.host(self.name)}:{self.state.ports['master']}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        host = self.state.host(self.name)
        return [(host, self.state.ports[name]) for name in ("master", "master/web")]

    def needs(self, living: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """It needs nobody."""
        return ""

    def make_way(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member: one JVM."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Say what keeps the master from serving."""
        page = self.listens_on[1]
        try:
            status = page_of(*page)["status"]
        except (OSError, ValueError) as error:
            return f"its page on port {page[1]} does not answer: {error}"
        return "" if status == "ALIVE" else f"it says that it is {status}"

    def alive_workers(self) -> list[str]:
        """Return the hosts of the workers that the master takes for alive."""
        workers = page_of(*self.listens_on[1])["workers"]
        return [worker["host"] for worker in workers if worker["state"] == "ALIVE"]


@dataclass(frozen=True)
class Worker:
    """One Spark worker: two cores, for executors of one core each."""

    state: State
    number: int

    kind = "worker"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def name(self) -> str:
        """`worker:N`."""
        return f"worker:{self.number}"

    @property
    def host(self) -> str:
        """Its own loopback address, or its own host."""
        return self.state.hosts.get(self.name, f"127.0.0.{self.number}")

    @property
    def address(self) -> str:
        """Its page."""
        return f"{self.host}:{self.state.ports[f'{self.name}/web']}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        return [(self.host, self.state.ports[f"{self.name}/web"])]

    def needs(self, living: Collection[str]) -> str:
        """Say what must live beside it before it can serve; empty if all of it does."""
        return "" if "master" in living else "the master"

    def make_way(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member: the worker's JVM. Its executors are not."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Say what keeps the worker from serving; it must answer and the master must know it."""
        try:
            page_of(*self.listens_on[0])
        except (OSError, ValueError) as error:
            return f"its page on {self.address} does not answer: {error}"
        try:
            known = self.host in Master(self.state).alive_workers()
        except (OSError, ValueError) as error:
            return f"the master does not answer: {error}"
        return "" if known else "the master does not take it for alive"


def is_executor(one: Identity) -> bool:
    """Whether a process is the JVM of an executor, whichever application's."""
    return EXECUTOR in one.arguments()


def executors(candidates: Collection[Identity], application: str) -> dict[str, Identity]:
    """Return the executors of an application, by executor id, among these processes."""
    found = {}
    for one in candidates:
        words = one.arguments()
        if EXECUTOR in words and words[words.index("--app-id") + 1] == application:
            found[words[words.index("--executor-id") + 1]] = one
    return found


def page_of(host: str, port: int) -> Any:
    """Return what the page of a master or a worker says of itself."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{host}:{port}/json/", timeout=1) as answer:
        return json.load(answer)
