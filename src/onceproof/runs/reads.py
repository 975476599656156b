"""The rows that were visible during the faults: polls of the history, and their rows in parquet.

A poll is one complete read of the sink. `reads/` has only the changes from one poll to the next:
`copies` is 1 for a row that appeared and -1 for one that disappeared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from onceproof.database import open_database
from onceproof.errors import EvidenceError
from onceproof.runs.ledger import query_parquet
from onceproof.runs.records import Op, Record

_AT_ONCE = 20_000


@dataclass(frozen=True)
class Poll:
    """A successful read: it began after the record `since` and had ended at `seq`."""

    number: int
    rows: int
    since: int
    seq: int


def polls(history: Sequence[Record]) -> tuple[Poll, ...]:
    """Return the polls that succeeded, in order, or raise `EvidenceError` if they contradict."""
    found = tuple(
        Poll(record.proof["poll"], record.proof["rows"], record.proof["since"], record.seq)
        for record in history
        if record.op is Op.POLL and record.is_ok
    )
    for one, other in pairwise(found):
        if other.number <= one.number:
            raise EvidenceError(f"poll {other.number} was recorded after poll {one.number}")
        if other.since < one.seq:
            raise EvidenceError(f"poll {other.number} began before poll {one.number} had ended")
    for poll in found:
        if not poll.since < poll.seq:
            raise EvidenceError(f"poll {poll.number} began after its own record")
    return found


@dataclass(frozen=True)
class Reads:
    """The rows in order of their polls, in SQL the table `reads`."""

    store: Any

    @classmethod
    def load(cls, folder: Path, known: Sequence[Poll]) -> Reads:
        """Load the rows and check them against the polls, or raise `EvidenceError`."""
        if not known:
            raise EvidenceError("no poll of the sink succeeded during the run")
        store = open_database()
        query_parquet(
            folder,
            "create table reads as select poll::bigint poll, copies::bigint copies, key::varchar"
            " key, value::varchar value, version::bigint version, position::bigint position,"
            " batch::bigint batch, attempt::bigint attempt"
            " from {rows}",
            store,
        )
        reads = cls(store)
        columns = dict.fromkeys(("number", "rows", "since", "seq"), int)
        reads.table("polls", columns, [astuple(poll) for poll in known])
        reads._check()
        return reads

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        found: list[tuple[Any, ...]] = self.store.execute(query).fetchall()
        return found

    def each(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, without loading all of them."""
        with self.store.cursor() as found:  # of its own: a caller may stop early
            found.execute(query)
            while some := found.fetchmany(_AT_ONCE):
                yield from some

    def count(self, query: str) -> int:
        """Return the one number of a query; a sum over nothing is 0."""
        return int(self.ask(query)[0][0] or 0)

    def table(self, name: str, columns: Mapping[str, type], rows: Sequence[Sequence[Any]]) -> None:
        """Add a small table for queries to join with; its columns are integers or text."""
        import pyarrow

        kinds = {int: pyarrow.int64(), str: pyarrow.string()}
        schema = pyarrow.schema([(column, kinds[kind]) for column, kind in columns.items()])
        cells = [dict(zip(columns, row, strict=True)) for row in rows]
        self.store.register(name, pyarrow.Table.from_pylist(cells, schema))

    def has_column(self, column: str) -> bool:
        """Whether all rows have this column (True) or none has; else raise `EvidenceError`."""
        rows, filled = self.ask(f"select count(*), count({column}) from reads")[0]  # noqa: S608
        if filled not in (0, rows):
            raise EvidenceError(f"{rows - filled:,} of {rows:,} rows of reads/ lack {column}")
        return bool(filled)

    def _check(self) -> None:
        if odd := self.count(
            "select count(*) from reads where copies not in (1, -1)"
            " or copies is null or poll is null"
        ):
            raise EvidenceError(
                f"{odd:,} rows of reads/ have no poll, or copies other than 1 and -1"
            )
        mismatched = self.ask(
            "select coalesce(number, poll), coalesce(p.rows, 0), coalesce(r.rows, 0) from polls p"
            " full join (select poll, count(*) as rows from reads group by poll) r"
            " on number = poll where p.rows is distinct from coalesce(r.rows, 0) order by all"
        )
        for number, recorded, kept in mismatched:
            raise EvidenceError(
                f"poll {number} has {recorded} rows in the history and {kept} rows in reads/"
            )
        if gone := self.count(
            "select count(*) from (select sum(copies) over (partition by key, value"
            " order by poll) net from reads) where net < 0"
        ):
            raise EvidenceError(f"{gone:,} rows of reads/ disappeared before they appeared")
