"""A checkpoint as one document: the logs and the state of each batch, and the problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onceproof.checkpoint.checks import Logs, is_checkpoint, query_id, troubles
from onceproof.checkpoint.state_files import Store, stores
from onceproof.errors import EvidenceError, RequestError


def picture(checkpoint: Path, archive: Path | None = None) -> dict[str, Any]:
    """Return the document that `onceproof checkpoint --json` prints, without its schema number.

    State of version b + 1 is listed with batch b, which wrote it. A batch that is only in one of
    the logs or in the state has an entry too.
    """
    if not is_checkpoint(checkpoint):
        raise RequestError(
            f"{checkpoint} is not a checkpoint; use the folder with metadata, offsets/ and commits/"
        )
    logs, found = Logs.read(checkpoint), stores(checkpoint)
    made = {one.version - 1 for store in found for one in store.files}
    seen = sorted({*logs.offsets, *logs.commits, *(batch for batch in made if batch >= 0)})
    problems = troubles(checkpoint, archive)
    return {
        "checkpoint": str(checkpoint),
        "query": _query(checkpoint),
        "sound": not problems,
        "troubles": problems,
        "settings": _settings(logs),
        "stores": [str(store) for store in found],
        "batches": [_batch(batch, logs, found) for batch in seen],
    }


def _query(checkpoint: Path) -> str | None:
    try:
        return query_id(checkpoint)
    except EvidenceError:
        return None


def _settings(logs: Logs) -> Mapping[str, str]:
    """Return the settings pinned by the newest readable batch."""
    newest = max(logs.planned, default=None)
    return {} if newest is None else logs.planned[newest].settings


def _batch(batch: int, logs: Logs, found: list[Store]) -> dict[str, Any]:
    step, done = logs.planned.get(batch), logs.committed.get(batch)
    return {
        "batch": batch,
        "planned": batch in logs.offsets,
        "committed": batch in logs.commits,
        "watermark_ms": step.watermark_ms if step else None,
        "timestamp_ms": step.timestamp_ms if step else None,
        "next_watermark_ms": done.next_watermark_ms if done else None,
        "sources": [_source(line) for line in step.sources] if step else [],
        "state": {
            str(store): files
            for store in found
            if (files := [one.path.name for one in store.files if one.version == batch + 1])
        },
        "damaged": [
            text
            for name, text in logs.damaged.items()
            if name in (f"offsets/{batch}", f"commits/{batch}")
        ],
    }


def _source(line: str) -> Any:
    try:
        return None if line == "-" else json.loads(line)
    except ValueError:
        return line
