"""The last event of every workload: far ahead of all others, so that every window closes."""

from __future__ import annotations

from typing import Any

SENTINEL_KEY = "sentinel"
AHEAD_MS = 24 * 60 * 60 * 1000


def sentinel(events: int, newest_ms: int) -> Any:
    """Return a table with the sentinel; `events` are before it, the newest at `newest_ms`."""
    import pyarrow

    return pyarrow.table(
        {
            "id": pyarrow.array([events]),
            "producer": pyarrow.array([0], "int32"),
            "key": pyarrow.array([SENTINEL_KEY]),
            "seq": pyarrow.array([1]),
            "event_ms": pyarrow.array([newest_ms + AHEAD_MS]),
            "amount": pyarrow.array([1]),
            "kind": pyarrow.array(["sentinel"]),
        }
    )
