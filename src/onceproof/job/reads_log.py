"""What a reader saw during a run: its looks as parquet, and each as a poll in the history."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.ledger import query_parquet
from onceproof.runs.reads import polls
from onceproof.runs.records import Op, Outcome, Record
from onceproof.sinks import LOOK, Look, Reader

_READER = "reader"
_REST = [name for name in LOOK if name != "copies"]


@dataclass
class ReadsLog:
    """The polls of a run; one at a time may be at work.

    A second one, after the first has died, goes on where that ended: its reader begins with all
    that is to be seen, and only what has changed since the last poll is kept.
    """

    run: RunDirectory
    reader: Reader
    _polled: int = field(init=False, default=0)
    _seen: Counter[tuple[Any, ...]] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        history = History(self.run.history)
        known = polls(history.so_far())
        self._polled = known[-1].number if known else 0
        for part in self.run.reads.glob("*.parquet"):
            if int(part.stem) > self._polled:  # written, and never recorded
                part.unlink()
        if known:
            self._seen = _net(self.run.reads)

    def poll_once(self) -> Record:
        """Look once, and record it; a look that the store did not answer is recorded as failed."""
        history = History(self.run.history)
        since = history.last_seq()
        try:
            rows = self._news(self.reader.look())
        except Exception as error:  # a user's reader may raise anything; no look is no evidence
            why = f"{type(error).__name__}: {error}"[:1000]
            return history.append(_READER, Op.POLL, Outcome.FAILED, proof={"why": why})
        self._polled += 1
        if rows.num_rows or self._polled == 1:  # without a single file, nobody would have read
            _keep(self.run.reads / f"{self._polled:06d}.parquet", rows, self._polled)
        proof = {"poll": self._polled, "rows": rows.num_rows, "since": since}
        return history.append(_READER, Op.POLL, proof=proof)

    def _news(self, look: Look) -> Any:
        """Return a look's rows; of the first one after another's polls what differs from those."""
        if not self._seen:
            return look.rows
        now: Counter[tuple[Any, ...]] = Counter()
        for row in look.rows.select(["copies", *_REST]).to_pylist():
            copies, *rest = row.values()
            now[tuple(rest)] += copies
        now.subtract(self._seen)
        self._seen = Counter()
        return Look.of(
            [
                (1 if copies > 0 else -1, *row)
                for row, copies in now.items()
                for _ in range(abs(copies))
            ]
        ).rows


def _net(folder: Path) -> Counter[tuple[Any, ...]]:
    """Return the rows that the last poll had in sight, with their copies."""
    rows = query_parquet(
        folder,
        f"select {', '.join(_REST)}, sum(copies)::bigint"  # noqa: S608
        " from {rows} group by all having sum(copies) <> 0",
    )
    return Counter({row[:-1]: row[-1] for row in rows})


def _keep(part: Path, rows: Any, poll: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    part.parent.mkdir(parents=True, exist_ok=True)
    half_made = part.with_name(f"_{part.name}")
    numbers = pa.repeat(pa.scalar(poll, pa.int64()), rows.num_rows)
    parquet.write_table(rows.add_column(0, "poll", numbers), half_made)
    os.replace(half_made, part)
