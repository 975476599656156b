"""What a table's writers have decided, kept in two tables beside it: the memory of a protocol.

A claim and a decision are one statement each, so a driver that is stopped between two of them holds
nothing. The row of a writer is what both take a lock on: whichever comes first stands before the
other, and a decision of an older epoch finds its row gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onceproof.sinks.protocol import Decision
from onceproof.sinks.protocol.writer import KEPT
from onceproof.sinks.tables.sessions import told
from onceproof.sinks.tables.table import parts_of
from onceproof.sinks.tables.writer_session import WriterSession

_MAKE = (
    "create table if not exists {writers} (writer text primary key, epoch int8 not null,"
    " attempt int8 not null, runs text[] not null, claimed timestamptz not null default now())",
    "create table if not exists {decisions} (writer text, batch int8, attempt int8 not null,"
    " decision text not null, marked bool not null default false,"
    " decided timestamptz not null default now(), primary key (writer, batch))",
)
# The last of `runs` has claimed the epoch; one that stands before it was superseded.
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
# A decision is put in only while its epoch is the newest: the row of the writer is locked. With it
# goes what is too old to be asked for.
_DECIDE = """with ours as
 (select writer from {{writers}} where writer = %s and epoch = %s for share),
 decided as (insert into {{decisions}} (writer, batch, attempt, decision)
 select writer, %s, %s, %s from ours on conflict (writer, batch) do {else_} returning batch),
 gone as (delete from {{decisions}} where writer = %s and batch <= %s and {is_over}
 and exists (select 1 from decided))
 select batch from decided"""
_ONCE = _DECIDE.format(else_="nothing", is_over="true")
# A log names other parts instead, and an old decision that is not marked is still to be applied.
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
        """Make the tables; a second time changes nothing."""
        for query in _MAKE:
            self.session.ask(query)

    def is_made(self) -> bool:
        """Whether the tables are there."""
        schema, _ = parts_of(self.session.target)
        return bool(self.session.ask(_IS_THERE, schema))

    def claim(self, attempt: int) -> int:
        """Claim the writer, and end the sessions of older runs' tasks."""
        ((epoch,),) = self._claim(_CLAIM, self.session.writer, attempt, [""], attempt, [""])
        self.session.end_tasks(epoch)
        return int(epoch)

    def claimed(self) -> tuple[int, str]:
        """Return the newest epoch and the run that has claimed it; 0 where nobody has."""
        found = self.session.ask(_CLAIMED, self.session.writer)
        return found[0] if found else (0, "")

    def claim_for(self, run: str, attempt: int, behind: int) -> int | None:
        """Claim for a run behind an epoch; what it has claimed already stays so."""
        writer, runs = self.session.writer, [run]
        if behind:
            told = self._claim(_CLAIM_BEHIND, attempt, runs, writer, behind, runs)
        else:
            told = self._claim(_CLAIM_FIRST, writer, attempt, runs)
        if told:
            self.session.end_tasks(behind + 1)
        epoch, by = self.claimed()
        return epoch if by == run else None

    def _claim(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        from psycopg.errors import LockNotAvailable

        with told(self.session.target):
            try:
                return self.session.run(query, *given)
            except LockNotAvailable:  # a driver that does not move holds the writer's row
                self.session.end_drivers()
                return self.session.run(query, *given)

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""
        return next(iter(self.decisions("order by batch desc limit 1")), None)

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of one batch."""
        return next(iter(self.decisions("and batch = %s", batch)), None)

    def decisions(self, which: str, *given: Any) -> list[Decision]:
        """Return those of the writer's decisions for which some SQL holds."""
        query = "select decision from {decisions} where writer = %s "
        found = self.session.ask(query + which, self.session.writer, *given)
        return [Decision.of(text) for (text,) in found]

    def decide(self, decision: Decision, query: str = _ONCE) -> bool:
        """Decide, if no newer epoch was claimed and no other decision of the batch stands."""
        batch, writer = decision.batch, self.session.writer
        told_of = (batch, decision.attempt, decision.to_json())
        return bool(self.session.ask(query, writer, decision.epoch, *told_of, writer, batch - KEPT))

    def drop(self) -> None:
        """Forget the writer, and remove the tables if nobody else is in them."""
        if not self.is_made():
            return
        self.session.ask("delete from {decisions} where writer = %s", self.session.writer)
        self.session.ask("delete from {writers} where writer = %s", self.session.writer)
        if not self.session.ask("select 1 from {writers} limit 1"):
            self.session.ask("drop table {writers}, {decisions}")
