"""Rows that a function of the user's returns, wherever they are.

It is given the target, and is called again and again while the run goes on: each time it returns
all that readers see then, as mappings of column to value.
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
from onceproof.sinks.files.reader import shown, write_rows
from onceproof.sinks.outputs import Asked, Located, Place, output

_REST = [name for name in LOOK if name != "copies"]


def rows_of(target: Target) -> Any:
    """Return what the function returns now, or raise `StackError`."""
    name = target.options["read"]
    function = find_attribute(name, f"rows of {name!r}", "a function of the target")
    try:
        found = list(function(target))
    except Exception as error:  # whatever it is that the user's code meets
        raise StackError(f"{name} raised {type(error).__name__}: {error}") from error
    return batch_of(target, found, name)


def read(target: Target, folder: Path) -> tuple[int, str]:
    """Write what the function returns."""
    return write_rows(target, [rows_of(target)], folder)


@dataclass
class Watcher:
    """Somebody who asks the function again and again, and tells what is new and what is gone."""

    target: Target
    _seen: Counter[tuple[Any, ...]] = field(init=False, default_factory=Counter)

    def look(self) -> Look:
        """Ask once."""
        rows = shown(rows_of(self.target), self.target).select(_REST).to_pylist()
        now = Counter(tuple(row.values()) for row in rows)
        came, gone = now - self._seen, self._seen - now
        self._seen = now
        return Look.of(
            [(1, *row) for row in came.elements()] + [(-1, *row) for row in gone.elements()]
        )

    def close(self) -> None:
        """Nothing is held open."""


def starter(asked: Asked) -> Iterator[str]:
    """Name the function, by its file as it is seen from the scenario's folder."""
    place, _, function = asked.at.rpartition(":")
    beside = os.path.relpath(Path(place).resolve(), asked.folder.resolve())
    yield f"read: {json.dumps(f'{beside}:{function}')}"


Rows = output(
    "rows",
    Place(
        store="any",
        called="",
        example="FILE.py:FUNCTION",
        options={"read": Field(Located(located), "the function that returns all rows")},
        shown=lambda target: target.name,
        prepare=lambda _: None,
        reader=Watcher,
        read=read,
        drop=lambda _: None,
        starter=starter,
    ),
)
