"""The memory of a table's writers: claims and decisions, in two tables beside the target.

A claim and a decision are one statement each, so a driver that is stopped between two of them holds
no lock. Both lock the writer's row: the second waits for the first, and a decision of an older
epoch does not find its row any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onceproof.sinks.protocol import Decision
from onceproof.sinks.protocol.writer import KEPT
from onceproof.sinks.tables.sessions import as_stack_error
from onceproof.sinks.tables.table import parts_of
from onceproof.sinks.tables.writer_session import WriterSession

_MAKE = (
    "create table if not exists {writers} (writer text primary key, epoch int8 not null,"
    " attempt int8 not null, runs text[] not null, claimed timestamptz not null default now())",
    "create table if not exists {decisions} (writer text, batch int8, attempt int8 not null,"
    " decision text not null, marked bool not null default false,"
    " decided timestamptz not null default now(), primary key (writer, batch))",
)
# The last entry of `runs` has claimed the epoch; those before it were superseded.
_FIRST_OF_ALL = (
    "insert into {writers} as held (writer, epoch, attempt, runs) values (%s, 1, %s, %s)"
)
_NEXT = """set epoch = held.epoch + 1, attempt = %s, claimed = now(),
 runs = (held.runs || %s::text[])[greatest(cardinality(held.runs) - 98, 1):] """
_CLAIM = f"{_FIRST_OF_ALL} on conflict (writer) do update {_NEXT} returning epoch"
_CLAIM_FIRST = f"{_FIRST_OF_ALL} on conflict (writer) do nothing returning epoch"
_CLAIM_BEHIND = (
    f"update {{writers}} as held {_NEXT} where writer = %s and epoch = %s"
    " and not runs @> %s returning epoch"
)
_CLAIMED = "select epoch, runs[cardinality(runs)] from {writers} where writer = %s"
# A decision is inserted only while its epoch is the newest: the writer's row is locked. The same
# statement deletes decisions that are too old to be needed.
_DECIDE = """with ours as
 (select writer from {{writers}} where writer = %s and epoch = %s for share),
 decided as (insert into {{decisions}} (writer, batch, attempt, decision)
 select writer, %s, %s, %s from ours on conflict (writer, batch) do {else_} returning batch),
 gone as (delete from {{decisions}} where writer = %s and batch <= %s and {is_over}
 and exists (select 1 from decided))
 select batch from decided"""
_ONCE = _DECIDE.format(else_="nothing", is_over="true")
# A log may replace the parts of a batch, and an old unmarked decision is still to be applied.
AGAIN = _DECIDE.format(
    else_="update set attempt = excluded.attempt, decision = excluded.decision, decided = now()"
    " where not {decisions}.marked",
    is_over="marked",
)
_IS_THERE = "select 1 from pg_tables where schemaname = %s and tablename = 'onceproof_writers'"


@dataclass(frozen=True)
class TableMemory:
    """The memory of one writer."""

    session: WriterSession

    def make(self) -> None:
        """Create the tables; idempotent."""
        for query in _MAKE:
            self.session.ask(query)

    def is_made(self) -> bool:
        """Whether the tables exist."""
        schema, _ = parts_of(self.session.target)
        return bool(self.session.ask(_IS_THERE, schema))

    def claim(self, attempt: int) -> int:
        """Claim the writer, and terminate the sessions of older runs' tasks."""
        ((epoch,),) = self._claim(_CLAIM, self.session.writer, attempt, [""], attempt, [""])
        self.session.end_tasks(epoch)
        return int(epoch)

    def claimed(self) -> tuple[int, str]:
        """Return the newest epoch and the run that claimed it; epoch 0 if there is no claim."""
        found = self.session.ask(_CLAIMED, self.session.writer)
        return found[0] if found else (0, "")

    def claim_for(self, run: str, attempt: int, behind: int) -> int | None:
        """Claim the epoch after `behind` for a run; a run that has already claimed keeps its epoch.

        Returns None if another run has the newest epoch.
        """
        writer, runs = self.session.writer, [run]
        if behind:
            claimed = self._claim(_CLAIM_BEHIND, attempt, runs, writer, behind, runs)
        else:
            claimed = self._claim(_CLAIM_FIRST, writer, attempt, runs)
        if claimed:
            self.session.end_tasks(behind + 1)
        epoch, by = self.claimed()
        return epoch if by == run else None

    def _claim(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        from psycopg.errors import LockNotAvailable

        with as_stack_error(self.session.target):
            try:
                return self.session.run(query, *given)
            except LockNotAvailable:  # a hanging driver holds the writer's row
                self.session.end_drivers()
                return self.session.run(query, *given)

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""
        return next(iter(self.decisions("order by batch desc limit 1")), None)

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of one batch."""
        return next(iter(self.decisions("and batch = %s", batch)), None)

    def decisions(self, which: str, *given: Any) -> list[Decision]:
        """Return the writer's decisions that an SQL condition selects."""
        query = "select decision from {decisions} where writer = %s "
        found = self.session.ask(query + which, self.session.writer, *given)
        return [Decision.of(text) for (text,) in found]

    def decide(self, decision: Decision, query: str = _ONCE) -> bool:
        """Record a decision unless a newer epoch was claimed or the batch has a decision."""
        batch, writer = decision.batch, self.session.writer
        row = (batch, decision.attempt, decision.to_json())
        return bool(self.session.ask(query, writer, decision.epoch, *row, writer, batch - KEPT))

    def drop(self) -> None:
        """Delete the writer's rows, and drop the tables if no other writer uses them."""
        if not self.is_made():
            return
        self.session.ask("delete from {decisions} where writer = %s", self.session.writer)
        self.session.ask("delete from {writers} where writer = %s", self.session.writer)
        if not self.session.ask("select 1 from {writers} limit 1"):
            self.session.ask("drop table {writers}, {decisions}")
