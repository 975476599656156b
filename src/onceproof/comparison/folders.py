"""Columns in folder names: the rows of `day=1/part.parquet` have day 1.

Only folders below the named one count, so that its own path cannot change a value.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onceproof.comparison.kinds import NOTHING, Kind
from onceproof.comparison.places import Files
from onceproof.database import literal
from onceproof.errors import RequestError

_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class FolderColumn:
    """A column and its value for each file of the side, in their order."""

    name: str
    values: tuple[str | None, ...]

    @property
    def kind(self) -> Kind:
        """Whole numbers or dates, if all values have that form; else text."""
        held = {value for value in self.values if value is not None}
        if not held:
            return NOTHING
        if all(map(_WHOLE.fullmatch, held)):
            return Kind("integer", 64)
        return Kind("date") if all(map(_is_date, held)) else Kind("text")

    @property
    def sql(self) -> str:
        """The SQL of its value as text, of rows that have a `file_index`."""
        cells = ("null" if value is None else literal(value) for value in self.values)
        return f"([{', '.join(cells)}]::varchar[])[(file_index + 1)::bigint]"


def folder_columns(side: str, files: Files) -> list[FolderColumn]:
    """Return the columns in folder names, or raise if not all files have the same ones."""
    named = [_named(side, files, path) for path in files.paths]
    refuse_other_names(side, files, list(zip(files.paths, named, strict=True)))
    return [FolderColumn(name, tuple(one[name] for one in named)) for name in named[0]]


def refuse_shadowed(
    side: str, files: Files, inside: Sequence[str], folders: Sequence[FolderColumn]
) -> None:
    """Raise `RequestError` for a column that is in the files and in the names of their folders."""
    known = {name.lower() for name in inside}
    for column in folders:
        if column.name.lower() in known:
            raise unreadable(
                side,
                files,
                f"column {column.name} is in {files.paths[0]} and in the names of its folders, and "
                "they may differ; rename one, or move the files out of these folders",
            )


def refuse_other_names(
    side: str, files: Files, named: Sequence[tuple[str, Sequence[str] | dict[str, str | None]]]
) -> None:
    """Raise `RequestError` for a file whose column names differ from the first file's."""
    first = named[0][0], frozenset(named[0][1])
    for path, names in named[1:]:
        here = path, frozenset(names)
        for one, other in ((first, here), (here, first)):
            if more := sorted(one[1] - other[1]):
                raise unreadable(
                    side,
                    files,
                    f"column {more[0]} is in {one[0]} and not in {other[0]}; write it into all "
                    "files, or compare them separately",
                )


def unreadable(side: str, files: Files, why: str) -> RequestError:
    """Return the error for a side that cannot be read."""
    return RequestError(f"the {side} side {files.name} cannot be read: {why.splitlines()[0]}")


def _named(side: str, files: Files, path: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for part in Path(path).relative_to(files.root).parts[:-1]:
        name, sign, value = map(_unescaped, part.partition("="))
        if not sign:
            continue
        if not (name and value) or name.lower() in map(str.lower, found):
            raise unreadable(
                side,
                files,
                f"{path} is in a folder {part}, which names no column of its own; write each "
                "name=value once, with both parts",
            )
        found[name] = None if value == _NULL else value
    return found


def _unescaped(text: str) -> str:
    """Return a text of Spark or Hive with its `%XX` escapes replaced."""
    return re.sub("%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)


def _is_date(value: str) -> bool:
    try:
        return bool(_DATE.fullmatch(value)) and bool(dt.date.fromisoformat(value))
    except ValueError:
        return False
