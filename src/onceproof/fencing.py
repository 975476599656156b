"""Records of sinks that fence replaced runs and attempts, written when it happens.

In a test run each record is a line of a file, from which the history takes it. Everywhere it is
also logged to `onceproof.sinks`.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

FILE = "ONCEPROOF_FENCED"
_LOG = logging.getLogger("onceproof.sinks")


def fenced(batch: int, what: str, **facts: Any) -> None:
    """Record that a run, an attempt or a part was kept out of a batch."""
    _LOG.info("batch %d: %s %s", batch, what, facts)
    path = os.environ.get(FILE)
    if path:
        line = json.dumps({"batch": batch, "what": what, **facts}).encode() + b"\n"
        handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def read_records(path: Path, after: int) -> list[dict[str, Any]]:
    """Return the records except the first `after` ones and an incomplete last line."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines[after:]]
