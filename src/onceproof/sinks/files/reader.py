"""A reader of folders of parquet that reads each file once, when it becomes visible.

A visible file never changes, so it is identified by name, inode and size. Its rows are kept in
memory, so that they can be returned as removed when the file is gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from onceproof.errors import StackError
from onceproof.sinks import LOOK, Look, Target
from onceproof.sinks.files.folders import File
from onceproof.sinks.files.parquet_rows import WROTE, rows_of, schema

T = TypeVar("T")
Listing = Callable[[], Mapping[str, File]]
Rows = Callable[[File, Target], Iterable[Any]]
_TRIES = 20


@dataclass
class FolderReader:
    """A reader that polls the files of a listing.

    All rows seen are kept in memory, about 100 bytes per row.
    """

    target: Target
    listing: Listing
    rows: Rows = rows_of
    _seen: dict[tuple[str, File], Any] = field(default_factory=dict)

    def look(self) -> Look:
        """Return the rows of new and of removed files; raises `StackError` if one is unreadable."""
        import pyarrow as pa

        there, came = of_listed(self.listing, self._news)
        gone = [entry for entry in self._seen if entry not in there]
        parts = [*(_copies(self._seen[entry], -1) for entry in gone)]
        parts += [_copies(rows, 1) for rows in came.values()]
        for entry in gone:
            del self._seen[entry]
        self._seen |= came
        return Look(pa.concat_tables([Look.of([]).rows, *parts]).combine_chunks())

    def close(self) -> None:
        """Do nothing: no resource is open."""

    def _news(self, found: Mapping[str, File]) -> tuple[set[Any], dict[Any, Any]]:
        there = set(found.items())
        return there, {entry: self._rows(entry[1]) for entry in there if entry not in self._seen}

    def _rows(self, file: File) -> Any:
        import pyarrow as pa

        parts = [look_rows(some, self.target) for some in self.rows(file, self.target)]
        kinds = [(name, getattr(pa, kind)()) for name, kind in LOOK.items() if name != "copies"]
        return pa.Table.from_batches(parts, pa.schema(kinds))


def read(target: Target, listing: Listing, folder: Path, rows: Rows = rows_of) -> tuple[int, str]:
    """Write all rows of the files as one parquet file; return their number and their digest.

    The digest is the sum of the rows' hashes, so it does not depend on their order or files.
    """

    def all_of(found: Mapping[str, File]) -> tuple[int, str]:
        files = (file for _, file in sorted(found.items()))
        return write_rows(target, (some for file in files for some in rows(file, target)), folder)

    return of_listed(listing, all_of)


def write_rows(target: Target, batches: Iterable[Any], folder: Path) -> tuple[int, str]:
    """Write record batches as one parquet file; return the number of rows and their digest."""
    import pyarrow.parquet as parquet

    count, digest = 0, 0
    folder.mkdir(parents=True, exist_ok=True)
    with parquet.ParquetWriter(folder / "rows.parquet", schema(target)) as writer:
        for some in batches:
            writer.write_batch(some)
            count += some.num_rows
            cells = zip(*(cell.to_pylist() for cell in some.columns), strict=True)
            digest += sum(map(_hash, cells))
    return count, f"{digest % (1 << 128):032x}"


def of_listed(listing: Listing, of: Callable[[Mapping[str, File]], T]) -> T:
    """Return `of(listing())`; retry if a listed file was replaced."""
    for _ in range(_TRIES):
        try:
            return of(listing())
        except FileNotFoundError as error:
            missing = error.filename
    raise StackError(f"{missing} is listed but does not exist: its rows cannot be read")


def look_rows(rows: Any, target: Target) -> Any:
    """Return rows in the columns of a look, without `copies`."""
    import pyarrow as pa

    version = rows.column(target.version).cast(pa.int64()) if target.version else None
    none = pa.nulls(rows.num_rows, pa.int64())
    values = [name for name in target.columns if name not in target.key]
    cells = {
        "key": _texts(rows, target.key),
        "value": _texts(rows, values),
        "version": none if version is None else version,
        "position": none,
        **dict(zip(("batch", "attempt"), map(rows.column, WROTE), strict=True)),
    }
    return pa.record_batch(cells)


def _texts(rows: Any, names: Any) -> Any:
    """Return one text per row of these columns, the same for -0.0 and 0.0."""
    import pyarrow as pa

    cells = [
        [one + 0.0 if isinstance(one, float) else one for one in rows.column(name).to_pylist()]
        for name in names
    ]
    rest = zip(*cells, strict=True) if cells else ((),) * rows.num_rows
    return pa.array([json.dumps(row, ensure_ascii=False, default=str) for row in rest], pa.string())


def _copies(rows: Any, copies: int) -> Any:
    import pyarrow as pa

    column = pa.repeat(pa.scalar(copies, pa.int64()), rows.num_rows)
    return rows.add_column(0, "copies", column)


def _hash(row: tuple[Any, ...]) -> int:
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest(), "big")
