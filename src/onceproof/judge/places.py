"""Where a side's rows are: files of one format, or a table of a PostgreSQL database."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from onceproof.errors import RequestError

_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
_PACKED = (".gz", ".zst")
POSTGRES = ("postgresql://", "postgres://")
SPARK_LOG = "_spark_metadata"


@dataclass(frozen=True)
class Files:
    """The files of a side, in the order of their names; `name` is how the user called them."""

    name: str
    format: str
    paths: tuple[str, ...]
    has_spark_log: bool = False

    @property
    def delimiter(self) -> str:
        """What stands between two fields of a line."""
        return "\t" if ".tsv" in self.paths[0] else ","


@dataclass(frozen=True)
class PostgresTable:
    """A table, or a view, and the address of its database."""

    address: str
    table: str

    @property
    def name(self) -> str:
        """The place without its password."""
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", self.table))


Place = Files | PostgresTable


def find_place(side: str, given: str | os.PathLike[str]) -> Place:
    """Find what was named, or raise `RequestError` that says what to write instead.

    A folder stands for the files in it and below, except those whose name, or whose folder's name,
    begins with `_` or `.`: so Spark marks what is no data.
    """
    text = os.fspath(given)
    if text.startswith(POSTGRES):
        address, _, table = text.partition("#")
        if not table:
            raise RequestError(
                f"the {side} side {PostgresTable(address, '').name} names no table: write it "
                "behind a #, as in postgresql://user@host/database#schema.table"
            )
        return PostgresTable(address, unquote(table))
    paths = _paths(text)
    if not paths:
        raise RequestError(
            f"the {side} side {text} cannot be read: there is no parquet, CSV or JSON lines file"
        )
    formats = {path: _format(path) for path in paths}
    if len(set(formats.values())) > 1 or None in formats.values():
        odd = next(
            path for path in paths if formats[path] != formats[paths[0]] or not formats[path]
        )
        raise RequestError(
            f"the {side} side {text} cannot be read: {odd} is not of one format with the rest; "
            f"files end in {', '.join(_FORMATS)}"
        )
    log = Path(text, SPARK_LOG).is_dir()
    return Files(text, formats[paths[0]] or "", tuple(paths), has_spark_log=log)


def _paths(text: str) -> list[str]:
    path = Path(text)
    if path.is_dir():
        inside = (found.relative_to(path) for found in path.rglob("*"))
        data = [one for one in inside if not any(part[0] in "_." for part in one.parts)]
        found = [str(path / one) for one in data if (path / one).is_file() and _format(str(one))]
        return sorted(found)
    if path.exists():
        return [text]
    return sorted(one for one in glob.glob(text, recursive=True) if Path(one).is_file())


def _format(path: str) -> str | None:
    name = Path(path)
    if name.suffix in _PACKED:
        name = name.with_suffix("")
    return _FORMATS.get(name.suffix)
