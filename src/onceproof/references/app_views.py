"""The views of each app after every batch with a view of it, without a watermark."""

from __future__ import annotations

from typing import Any

from onceproof.references import Events, Reference, readable


def _emitted(events: Events) -> Any:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    by_batch = readable(events.frame).groupBy(F.col("key").alias("app"), "batch").count()
    so_far = Window.partitionBy("app").orderBy("batch")
    views = F.sum("count").over(so_far).alias("views")
    return by_batch.select("app", views, F.col("batch").cast("long").alias("_batch"))


def _state(events: Events) -> Any:
    from pyspark.sql import functions as F

    by_app = readable(events.frame).groupBy(F.col("key").alias("app"))
    return by_app.agg(F.count("*").alias("views"))


REFERENCE = Reference(
    columns={"app": "string", "views": "bigint"},
    key=("app",),
    version="views",
    emitted=_emitted,
    state=_state,
    state_columns=("key.key as app", "value.count as views"),
    mode="update",
)
