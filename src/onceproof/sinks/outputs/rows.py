"""Rows from any store, returned by a function of the user's.

The function receives the target. It is called repeatedly during the run and must return all rows
that are visible at that moment, as mappings of column to value.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.errors import StackError
from onceproof.naming import find_attribute, located
from onceproof.schema.kinds import Field
from onceproof.sinks import LOOK, Look, Target
from onceproof.sinks.exact_cells import batch_of
from onceproof.sinks.files.reader import look_rows, write_rows
from onceproof.sinks.outputs import InitOutput, Located, Place, output
from onceproof.sinks.outputs.all_columns import table_of, write_table

_REST = [name for name in LOOK if name != "copies"]


def called(target: Target) -> tuple[str, list[Any]]:
    """Call the function; return its name and its rows, or raise `StackError` if it fails."""
    name = target.options["read"]
    function = find_attribute(name, f"rows of {name!r}", "a function of the target")
    try:
        return name, list(function(target))
    except Exception as error:  # the user's code may raise anything
        raise StackError(f"{name} raised {type(error).__name__}: {error}") from error


def rows_of(target: Target) -> Any:
    """Return the function's rows in the columns of the target."""
    name, found = called(target)
    return batch_of(target, found, name)


def read(target: Target, folder: Path) -> tuple[int, str]:
    """Write the rows that the function returns now."""
    return write_rows(target, [rows_of(target)], folder)


def read_all(target: Target, folder: Path) -> None:
    """Write the rows that the function returns now, with all of their columns."""
    write_table(table_of(called(target)[1], target.columns), folder)


@dataclass
class Watcher:
    """A reader that calls the function repeatedly and returns the rows added and removed."""

    target: Target
    _seen: Counter[tuple[Any, ...]] = field(init=False, default_factory=Counter)

    def look(self) -> Look:
        """Call the function once."""
        rows = look_rows(rows_of(self.target), self.target).select(_REST).to_pylist()
        now = Counter(tuple(row.values()) for row in rows)
        came, gone = now - self._seen, self._seen - now
        self._seen = now
        return Look.of(
            [(1, *row) for row in came.elements()] + [(-1, *row) for row in gone.elements()]
        )

    def close(self) -> None:
        """Do nothing: no resource is open."""


def starter(given: InitOutput) -> Iterator[str]:
    """Yield the option `read` with the function's file relative to the scenario's folder."""
    place, _, function = given.at.rpartition(":")
    beside = os.path.relpath(Path(place).resolve(), given.folder.resolve())
    yield f"read: {json.dumps(f'{beside}:{function}')}"


Rows = output(
    "rows",
    Place(
        store="any",
        named_by="",
        example="FILE.py:FUNCTION",
        options={"read": Field(Located(located), "the function that returns all rows")},
        location=lambda target: target.name,
        prepare=lambda _: None,
        reader=Watcher,
        read=read,
        drop=lambda _: None,
        read_all=read_all,
        starter=starter,
    ),
)
