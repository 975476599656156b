"""The ledger of the input: the offsets that the brokers acknowledged, in parquet."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

from onceproof.database import cursor, read_parquet
from onceproof.errors import EvidenceError
from onceproof.machine.data_files import data_files

Partition = tuple[str, int]
# The values of `awkward` of records that no consumer can read an event from.
TOMBSTONE, UNPARSABLE = "tombstone", "unparsable"
UNREADABLE = (TOMBSTONE, UNPARSABLE)


@dataclass(frozen=True)
class Ledger:
    """The acknowledged offsets of each topic-partition, in order, and how many rows were offered.

    Rows without an offset were offered and never acknowledged: whether they arrived is unknown.
    `sentinels` counts acknowledged rows that were sent after all the others had been committed.
    `events` counts offered rows of the workload, without those that were sent a second time.
    """

    offered: int
    offsets: Mapping[Partition, list[int]]
    sentinels: int
    events: int

    @classmethod
    def read(cls, folder: Path, topics: Sequence[str] = ()) -> Ledger:
        """Read `topic`, `partition` and `offset` of every file, or raise `EvidenceError`.

        With `topics`, only their rows are read.
        """
        every = query_parquet(
            folder,
            'select topic, partition, count(*), list("offset" order by "offset")'
            ' filter (where "offset" is not null),'
            """ count("offset") filter (where kind = 'sentinel'),"""
            " count(*) filter (where kind = 'event')"
            " from {rows} group by all order by all",
        )
        rows = [row for row in every if row[0] in topics or not topics]
        offsets = {(topic, partition): found for topic, partition, _, found, *_ in rows if found}
        for (topic, partition), found in offsets.items():
            for offset in (one for one, other in pairwise(found) if one == other):
                raise EvidenceError(f"the ledger has {topic}-{partition} offset {offset} twice")
        offered, sentinels, events = (sum(row[at] for row in rows) for at in (2, 4, 5))
        return cls(offered, offsets, sentinels, events)

    @property
    def acknowledged(self) -> int:
        """The number of rows with an offset."""
        return sum(map(len, self.offsets.values()))

    def covered_by(self, position: Mapping[Partition, int]) -> int:
        """Count the acknowledged rows before a position (the next offset to be read)."""
        return sum(bisect_left(found, position.get(at, 0)) for at, found in self.offsets.items())


def parquet_files(folder: Path) -> list[Path]:
    """Return a folder's files at any depth, or raise `EvidenceError` if it has none.

    A file that is not parquet is an error too. Names that begin with `_` or `.` are skipped:
    writers use them for unfinished files.
    """
    try:
        files = data_files(folder) if folder.exists() else []
    except OSError as error:
        raise EvidenceError(f"{folder.name}/ cannot be listed: {error.strerror}") from None
    if not files:
        raise EvidenceError(f"{folder.name}/ is missing from the run's directory, or has no rows")
    for path in files:
        if path.suffix != ".parquet":
            raise EvidenceError(f"{path.relative_to(folder.parent)} is not a parquet file")
    return files


def query_parquet(folder: Path, query: str, store: Any = None) -> list[tuple[Any, ...]]:
    """Return the result of a query over a folder's rows, or raise `EvidenceError`.

    `{rows}` in the query is replaced by the rows of all files. A column that only some files have
    is NULL in the rows of the others.
    """
    import duckdb

    rows = read_parquet(parquet_files(folder), "union_by_name=true")
    try:
        database = store or cursor()
        found: list[tuple[Any, ...]] = database.execute(query.replace("{rows}", rows)).fetchall()
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        raise EvidenceError(f"{folder.name}/ cannot be queried: {why}") from error
    return found


def content_digest(folder: Path) -> str:
    """Return a digest of a folder's rows: the sum of a hash of each, in any order."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    total = 0
    for path in parquet_files(folder):
        for some in parquet.ParquetFile(path).iter_batches():
            cells = [
                cell.cast(pa.int64()) if pa.types.is_timestamp(cell.type) else cell
                for cell in some.columns
            ]
            total += sum(map(row_hash, zip(*(cell.to_pylist() for cell in cells), strict=True)))
    return f"{total % (1 << 128):032x}"


def row_hash(row: tuple[Any, ...]) -> int:
    """Return a hash of a row, the same on every machine."""
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest(), "big")


def count_rows(folder: Path) -> int:
    """Count the rows of a folder's parquet files, from their footers."""
    import pyarrow.parquet as parquet

    return sum(
        int(readable(path, lambda: parquet.read_metadata(path)).num_rows)  # noqa: B023
        for path in parquet_files(folder)
    )


def read_rows(folder: Path, columns: Sequence[str] | None = None) -> Any:
    """Return a folder's rows as an Arrow table; names of folders do not become columns."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parts = (
        readable(path, lambda: parquet.ParquetFile(path).read(columns))  # noqa: B023
        for path in parquet_files(folder)
    )
    return pa.concat_tables(parts, promote_options="default")


def readable(path: Path, read: Callable[[], Any]) -> Any:
    """Return the result of `read`, or raise `EvidenceError` if the file is damaged."""
    import pyarrow as pa

    try:
        return read()
    except (pa.ArrowException, OSError) as error:
        why = " ".join(str(error).split())
        raise EvidenceError(
            f"{path.parent.name}/{path.name} is not readable parquet: {why}"
        ) from None
