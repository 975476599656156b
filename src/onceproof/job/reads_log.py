"""The log of a reader during a run: each look as parquet, and as a poll in the history."""

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
    """The polls of a run; only one instance may be in use at a time.

    An instance after a crash continues the log: its reader begins with all visible rows, and only
    the changes since the last recorded poll are kept.
    """

    run: RunDirectory
    reader: Reader
    _polled: int = field(init=False, default=0)
    _seen: Counter[tuple[Any, ...]] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        history = History(self.run.history, self.run.about_output)
        recorded = polls(history.so_far())
        self._polled = recorded[-1].number if recorded else 0
        for part in self.run.reads.glob("*.parquet"):
            if int(part.stem) > self._polled:  # written but not recorded
                part.unlink()
        if recorded:
            self._seen = _net(self.run.reads)

    def poll_once(self) -> Record:
        """Look once and record it; a look that raises is recorded as failed."""
        history = History(self.run.history, self.run.about_output)
        since = history.last_seq()
        try:
            rows = self._news(self.reader.look())
        except Exception as error:  # a user's reader may raise anything; a failed look is recorded
            why = f"{type(error).__name__}: {error}"[:1000]
            return history.append(_READER, Op.POLL, Outcome.FAILED, proof={"why": why})
        self._polled += 1
        if rows.num_rows or self._polled == 1:  # without any file, the run would count as unread
            _keep(self.run.reads / f"{self._polled:06d}.parquet", rows, self._polled)
        proof = {"poll": self._polled, "rows": rows.num_rows, "since": since}
        return history.append(_READER, Op.POLL, proof=proof)

    def _news(self, look: Look) -> Any:
        """Return a look's rows; of the first look after a crash the changes since the last poll."""
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
    """Return the rows visible at the last poll, with their copies."""
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
