"""The place of a side's rows: files of one format, or a table of a PostgreSQL database."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from onceproof.errors import RequestError
from onceproof.machine.data_files import data_files

_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
_PACKED = {".gz": "gzip", ".zst": "zstd"}
POSTGRES = ("postgresql://", "postgres://")
SPARK_LOG = "_spark_metadata"


@dataclass(frozen=True)
class Files:
    """The files of a side, in the order of their names; `name` is the user's name for them.

    Folders `name=value` between `root` and a file are columns; folders above `root` never are.
    """

    name: str
    format: str
    paths: tuple[str, ...]
    root: str
    has_spark_log: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the files are CSV or TSV, whose values have no type."""
        return self.format in ("csv", "tsv")


@dataclass(frozen=True)
class PostgresTable:
    """A table, or a view, and the address of its database."""

    address: str
    table: str

    @property
    def name(self) -> str:
        """The address of the table without the password."""
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", self.table))


Place = Files | PostgresTable


def find_place(side: str, given: str | os.PathLike[str]) -> Place:
    """Return the place of a name, or raise `RequestError`.

    A folder means all files in and below it, links included, except those that `data_files` skips;
    a file of another format in it is an error.
    """
    text = os.fspath(given)
    if text.startswith(POSTGRES):
        address, _, table = text.partition("#")
        if not table:
            raise RequestError(
                f"the {side} side {PostgresTable(address, '').name} names no table; write it "
                "after a #, as in postgresql://user@host/database#schema.table"
            )
        return PostgresTable(address, unquote(table))
    try:
        paths = _paths(text)
    except OSError as error:
        raise RequestError(
            f"the {side} side {text} cannot be read: {error.filename}: {error.strerror}"
        ) from None
    if not paths:
        raise RequestError(
            f"the {side} side {text} cannot be read: it has no parquet, CSV or JSON lines file"
        )
    formats = {path: _format(path) for path in paths}
    first = next(filter(None, formats.values()), None)
    for path, found in formats.items():
        if not found or found != first:
            raise RequestError(
                f"the {side} side {text} cannot be read: {path} has another format than the "
                f"rest; move it elsewhere, or name files that end in {', '.join(_FORMATS)}, "
                f"or these and {' or '.join(_PACKED)}"
            )
    log = Path(text, SPARK_LOG).is_dir()
    return Files(text, first or "", tuple(paths), _root(text), has_spark_log=log)


def packing(path: str) -> str | None:
    """Return how a file is compressed as a whole, by its name."""
    return _PACKED.get(Path(path).suffix.lower())


def _paths(text: str) -> list[str]:
    path = Path(text)
    if path.is_dir():
        return [str(one) for one in data_files(path)]
    if path.exists():
        return [text]
    return sorted(one for one in glob.glob(text, recursive=True) if Path(one).is_file())


def _root(text: str) -> str:
    """Return the folder below which folder names count: of a pattern, the part before its signs."""
    path = Path(text)
    if path.is_dir():
        return text
    if path.exists():
        return str(path.parent)
    parts = Path(text).parts
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return str(Path(*parts[:plain]))


def _format(path: str) -> str | None:
    name = Path(path)
    if packing(path):
        name = name.with_suffix("")
    return _FORMATS.get(name.suffix.lower())
