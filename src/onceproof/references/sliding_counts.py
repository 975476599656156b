"""The events and the amount of each app in each window of 4 seconds, once the window has closed."""

from __future__ import annotations

from typing import Any

from onceproof.references import Events, Lateness, Reference, readable
from onceproof.references.windows import (
    by_pane,
    closed,
    late_windows,
    on_time,
    still_open,
    windowed,
)


def _windows(events: Events) -> Any:
    from pyspark.sql import functions as F

    sums = F.count("*").alias("events"), F.sum("amount").alias("amount")
    rows = on_time(windowed(by_pane(readable(events.frame), ["key"], 1000, *sums), 4000, 1000))
    totals = F.sum("events").alias("events"), F.sum("amount").alias("amount")
    return rows.groupBy(F.col("key").alias("app"), "bound_ms").agg(*totals)


def _emitted(events: Events) -> Any:
    done = closed(_windows(events), events.watermarks)
    return done.selectExpr("app", "bound_ms as window_end_ms", "events", "amount", "_batch")


def _state(events: Events) -> Any:
    rows = still_open(_windows(events), events.watermarks)
    return rows.selectExpr("app", "bound_ms as window_end_ms", "events", "amount")


REFERENCE = Reference(
    columns={
        "app": "string",
        "window_end_ms": "bigint",
        "events": "bigint",
        "amount": "bigint",
    },
    key=("app", "window_end_ms"),
    version=None,
    emitted=_emitted,
    state=_state,
    state_columns=(
        "key.key as app",
        "unix_millis(key.window.end) as window_end_ms",
        "value.count as events",
        "value.sum as amount",
    ),
    lateness=Lateness(2000, lambda events: late_windows(events.frame, 4000, 1000)),
)
