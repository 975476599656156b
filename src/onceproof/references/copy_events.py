"""Every acknowledged event that can be parsed, as often as it was acknowledged."""

from __future__ import annotations

from typing import Any

from onceproof.references import Events, Reference, readable


def _emitted(events: Events) -> Any:
    from pyspark.sql import functions as F

    return readable(events.frame).select(*_COLUMNS, F.col("batch").cast("long").alias("_batch"))


_COLUMNS = {
    "id": "bigint",
    "key": "string",
    "seq": "bigint",
    "event_ms": "bigint",
    "amount": "bigint",
}

REFERENCE = Reference(columns=_COLUMNS, key=("id",), version=None, emitted=_emitted)
