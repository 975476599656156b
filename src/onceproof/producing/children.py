"""The producers of a run as child processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from onceproof.errors import StackError
from onceproof.kafka.security import Brokers, Security
from onceproof.runs.plan import InputPart, Plan

_TAIL = 500


@dataclass(frozen=True)
class Order:
    """The workload that one producer sends, and the folder of its part of the ledger."""

    workload: str
    options: Mapping[str, Any]
    seed: int
    run: str
    topic: str
    partitions: int
    brokers: Brokers
    folder: str
    patience_s: float
    producer: int = 0

    @classmethod
    def of(
        cls,
        plan: Plan,
        read: InputPart,
        options: Mapping[str, Any],
        brokers: Brokers,
        folder: Path,
        patience_s: float,
    ) -> Order:
        """Return the order to send the workload of a run's input with these options."""
        return cls(
            workload=read.workload,
            options=options,
            seed=plan.seed_of(read),
            run=plan.run,
            topic=read.topic,
            partitions=read.partitions,
            brokers=brokers,
            folder=str(folder.resolve()),
            patience_s=patience_s,
        )

    @classmethod
    def parse(cls, text: str) -> Order:
        """Return the order that `str` serialized."""
        found = json.loads(text)
        brokers = found.pop("brokers")
        return cls(
            **found,
            brokers=Brokers(tuple(brokers["addresses"]), Security(**brokers["security"])),
        )

    def __str__(self) -> str:
        return json.dumps(asdict(self))


class Producers:
    """All producers of a run; they outlive neither the `with` block nor this process."""

    def __init__(self, order: Order, count: int, logs: Path) -> None:
        """Start them; their output goes to `produce-N.log`."""
        logs.mkdir(parents=True, exist_ok=True)
        self._children: list[_Child] = []
        try:
            for number in range(count):
                log = logs / f"produce-{number}.log"
                self._children.append(_Child(replace(order, producer=number), log))
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill the producers that are still running."""
        for child in self._children:
            child.end()

    def totals(self) -> tuple[int, int]:
        """Return the numbers of records offered and acknowledged so far, over all producers."""
        totals = [child.totals() for child in self._children]
        return sum(one[0] for one in totals), sum(one[1] for one in totals)

    def are_done(self) -> bool:
        """Whether all have sent all their records; raises `StackError` if one has failed."""
        done = [child.is_done() for child in self._children]
        return all(done)


class _Child:
    def __init__(self, order: Order, log: Path) -> None:
        command = [sys.executable, "-m", "onceproof.producing", str(order)]
        self._log, self._number = log, order.producer
        self._text, self._totals = b"", (0, 0)
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file
            )
        os.set_blocking(self._output(), False)

    def totals(self) -> tuple[int, int]:
        while found := self._read():
            *lines, self._text = (self._text + found).split(b"\n")
            for line in lines[-1:]:
                offered, acknowledged = line.split()
                self._totals = int(offered), int(acknowledged)
        return self._totals

    def is_done(self) -> bool:
        ended = self._process.poll()
        if ended:
            output = self._log.read_text(errors="replace").strip()[-_TAIL:]
            raise StackError(
                f"producer {self._number} exited with {ended}, so the ledger is incomplete:"
                f" {output or 'its log is empty'}"
            )
        return ended is not None

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _output(self) -> int:
        assert self._process.stdout is not None  # noqa: S101
        return self._process.stdout.fileno()

    def _read(self) -> bytes:
        try:
            return os.read(self._output(), 1 << 16)
        except BlockingIOError:
            return b""
