"""Damage to a checkpoint by a fault, while no driver lives, and its proof."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from onceproof.checkpoint.damage_kinds import KINDS
from onceproof.errors import StackError

MAX_LISTED = 30
Files = dict[str, str | None]


def damage(checkpoint: Path, kind: str, batch: int) -> dict[str, Any]:
    """Damage a checkpoint; return size and sha256 of each changed file before and after.

    `files` has at most `MAX_LISTED` entries, those of the logs first; `changed` counts all of them.
    """
    if batch < KINDS[kind].least:
        raise StackError(f"{kind} needs batch {KINDS[kind].least}, but the newest is {batch}")
    before = _files(checkpoint)
    KINDS[kind].hurt(checkpoint, batch)
    after = _files(checkpoint)
    names = [
        name for name in sorted({*before, *after}, key=_rank) if before.get(name) != after.get(name)
    ]
    if not names:
        raise StackError(f"{kind} at batch {batch} changed no file of the checkpoint")
    files = {name: {"before": before.get(name), "after": after.get(name)} for name in names}
    return {"changed": len(names), "files": dict(list(files.items())[:MAX_LISTED])}


def _rank(name: str) -> tuple[bool, bool, str]:
    return name.startswith("state/"), "/." in name, name


def _files(checkpoint: Path) -> Files:
    return {
        str(path.relative_to(checkpoint)): _size_and_digest(path)
        for path in checkpoint.rglob("*")
        if path.is_file()
    }


def _size_and_digest(path: Path) -> str:
    content = path.read_bytes()
    return f"{len(content)} bytes, {hashlib.sha256(content).hexdigest()}"
