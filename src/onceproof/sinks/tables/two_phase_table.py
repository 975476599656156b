"""Rows added to a table of PostgreSQL by two-phase commit: prepared by tasks, decided once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from onceproof import failpoints
from onceproof.guarantee import Guarantee
from onceproof.sinks.in_spark.driver_side import write_by_parts, writer_of
from onceproof.sinks.protocol.two_phase import TwoPhase
from onceproof.sinks.sweep import Left, counted, decided
from onceproof.sinks.tables.memory import TableMemory
from onceproof.sinks.tables.prepared_parts import PreparedParts
from onceproof.sinks.tables.sink import TableSink
from onceproof.sinks.tables.table import drop, make


@dataclass(frozen=True)
class TwoPhaseTable(TableSink):
    """A table to which each task adds its rows in a prepared transaction.

    One object is one run: it claims the writer at its first batch, and never again.
    """

    family = "two_phase"
    guarantee = Guarantee.EXACTLY_ONCE
    modes: ClassVar = ("append", "update", "complete")
    steps: ClassVar = (
        *failpoints.TASK,
        *("all_pre_committed", "decided", "commit_half", "committed", "sink_committed"),
    )

    def prepare(self) -> None:
        """Make the table and the memory beside it."""
        self._store.check()
        make(self.target, unique=False)
        TableMemory(self._session).make()

    def is_prepared(self) -> bool:
        """Whether the memory is there; the table may be somebody else's."""
        return TableMemory(self._session).is_made()

    def write(self, frame: Any, batch: int) -> None:
        """Write a batch; of one that was decided before only the plan is run."""
        write_by_parts(self._run, self.target, frame, batch, self._store.begin)

    def recover(self) -> Mapping[str, Any]:
        """Commit what dead attempts had decided, and roll back the rest of what they prepared."""
        return self.begun().recover()

    def open(self) -> tuple[int, int]:
        """Return how many transactions are prepared; the store does not tell their rows."""
        return len(self._store.open()), 0

    def left(self) -> list[Left]:
        """Return the transactions that are prepared."""
        memory = TableMemory(self._session)
        return [
            Left("prepared", part, decided(memory, part), since)
            for part, since in self._store.prepared().items()
        ]

    def settle(self, left: Sequence[Left]) -> Mapping[str, int]:  # noqa: ARG002
        """Commit or roll back what is prepared."""
        return counted(self.recover())

    def drop(self) -> None:
        """Roll back what is prepared, and drop the table and its memory."""
        for part in self._store.open():
            self._store.abort(part)
        TableMemory(self._session).drop()
        self._session.close()
        drop(self.target)

    @property
    def _store(self) -> PreparedParts:
        return PreparedParts(self._session)

    @cached_property
    def _run(self) -> TwoPhase:
        return self.begun()

    def begun(self) -> TwoPhase:
        """Return the driver's side of a run that has not claimed yet."""
        writer = writer_of(self.target, self._session.writer, TableMemory(self._session))
        return TwoPhase(self._store, writer, failpoints.reached)
