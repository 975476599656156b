"""A checkpoint that a fault damages while no driver lives, and the proof of it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from onceproof.checkpoint.damage_kinds import KINDS
from onceproof.errors import StackError

MAX_LISTED = 30
Told = dict[str, str | None]


def damage(checkpoint: Path, kind: str, batch: int) -> dict[str, Any]:
    """Damage a checkpoint; return what each file was before and after, as its size and sha256.

    At most so many files are told by name, those of the logs first; `changed` counts all of them.
    """
    if batch < KINDS[kind].least:
        raise StackError(f"{kind} needs batch {KINDS[kind].least}, and the newest is {batch}")
    before = _files(checkpoint)
    KINDS[kind].hurt(checkpoint, batch)
    after = _files(checkpoint)
    names = [
        name for name in sorted({*before, *after}, key=_rank) if before.get(name) != after.get(name)
    ]
    if not names:
        raise StackError(f"{kind} of batch {batch} found nothing in the checkpoint to change")
    told = {name: {"before": before.get(name), "after": after.get(name)} for name in names}
    return {"changed": len(names), "files": dict(list(told.items())[:MAX_LISTED])}


def _rank(name: str) -> tuple[bool, bool, str]:
    return name.startswith("state/"), "/." in name, name


def _files(checkpoint: Path) -> Told:
    return {
        str(path.relative_to(checkpoint)): _told(path)
        for path in checkpoint.rglob("*")
        if path.is_file()
    }


def _told(path: Path) -> str:
    content = path.read_bytes()
    return f"{len(content)} bytes, {hashlib.sha256(content).hexdigest()}"
