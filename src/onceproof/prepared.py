"""What `prepare` found and made for a run: the stack's addresses, and whose stack it is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from onceproof.documents import field, read_object, write_whole


@dataclass(frozen=True)
class Prepared:
    """Where the stack of a run is. `own` says that it was started for this run alone."""

    stack: str
    own: bool
    bootstrap: str
    master: str
    address: str

    @classmethod
    def read(cls, path: Path) -> Prepared:
        """Read a prepared.json, or raise `EvidenceError` with what is wrong with it."""
        found = read_object(path)
        where = "what was prepared"
        return cls(
            field(found, "stack", str, where),
            field(found, "own", bool, where),
            field(found, "bootstrap", str, where),
            field(found, "master", str, where),
            field(found, "address", str, where),
        )

    def write(self, path: Path) -> None:
        """Write it whole or not at all."""
        write_whole(path, json.dumps(asdict(self), indent=1))
