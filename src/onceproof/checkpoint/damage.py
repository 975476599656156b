"""What faults take out of a checkpoint, while no driver lives."""

from __future__ import annotations

import hashlib
from pathlib import Path

from onceproof.errors import StackError


def take_commit(checkpoint: Path, batch: int) -> dict[str, str]:
    """Take the commit of a batch away with its checksum; return the sha256 of each file by name.

    With the checksum left behind, Spark takes its own batch for one of another query.
    """
    taken = {}
    for name in (f"commits/{batch}", f"commits/.{batch}.crc"):
        path = checkpoint / name
        if path.exists():
            taken[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            path.unlink()
    if f"commits/{batch}" not in taken:
        raise StackError(f"there is no commits/{batch} that could be taken away")
    return taken
