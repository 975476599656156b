"""The manifest of Spark's own file sink: which files are committed, batch by batch.

`_spark_metadata/<batch>` lists what a batch has added, and every tenth of them, `<batch>.compact`,
all that any batch has. A file that stands in the folder and in no list was never committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from onceproof.errors import StackError
from onceproof.sinks.files.folders import File

MANIFEST = "_spark_metadata"
_COMPACT = ".compact"


@dataclass
class Manifest:
    """The lists below a data folder; each is read once."""

    data: Path
    _known: dict[str, File] = field(default_factory=dict)
    _read: set[int] = field(default_factory=set)

    def newest(self) -> int:
        """Return the newest batch that is committed, -1 if there is none."""
        return max(self._lists(), default=-1)

    def files(self) -> Mapping[str, File]:
        """Return every committed file; its batch is None where Spark has removed the list of it."""
        lists = self._lists()
        for batch in sorted(lists.keys() - self._read):
            is_told = set(range(batch)) <= self._read  # what a compact list adds is its batch's
            is_own = is_told or not lists[batch].endswith(_COMPACT)
            for path in _entries(self.data / MANIFEST / lists[batch]):
                if path.name not in self._known:
                    self._known[path.name] = File.of(path, batch if is_own else None)
            self._read.add(batch)
        return self._known

    def _lists(self) -> dict[int, str]:
        folder = self.data / MANIFEST
        names = os.listdir(folder) if folder.is_dir() else []
        found = {name.removesuffix(_COMPACT): name for name in sorted(names)}
        return {int(batch): name for batch, name in found.items() if batch.isdigit()}


def _entries(path: Path) -> list[Path]:
    try:
        version, *lines = path.read_text(encoding="utf-8").splitlines()
        if version != "v1":
            raise ValueError(f"it begins with {version!r}, and only v1 is known")
        entries = [json.loads(line) for line in lines]
        added = [entry["path"] for entry in entries if entry["action"] == "add"]
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StackError(f"{MANIFEST}/{path.name} cannot be read: {error}") from None
    return [Path(unquote(urlsplit(one).path)) for one in added]
