"""Frames as records: what a batch's rows become on their way to a topic, by Spark's own words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.topics.rows import are_records

_MOMENTS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}


def record_target(target: Target) -> Target:
    """Return the target with the columns of its records."""
    if are_records(target.columns):
        return target
    columns = {"value": "string"} | ({"key": "string"} if target.key else {})
    return replace(target, columns=columns)


def as_records(target: Target, frame: Any) -> Any:
    """Return a frame as one of records, or raise if it lacks a column of the target.

    A key of one column is its text, one of several a JSON object.
    """
    from pyspark.sql import functions as F

    if missing := [name for name in target.columns if name not in frame.columns]:
        raise RequestError(
            f"the batch has no column {missing[0]}: write {', '.join(target.columns)}"
        )
    if are_records(target.columns):
        return frame.select(*target.columns)

    def quoted(names: Any) -> list[Any]:
        return [F.col(f"`{name.replace('`', '``')}`") for name in names]

    shown = [F.to_json(F.struct(*quoted(target.columns)), _MOMENTS).alias("value")]
    if len(target.key) == 1:
        shown.append(quoted(target.key)[0].cast("string").alias("key"))
    elif target.key:
        shown.append(F.to_json(F.struct(*quoted(target.key)), _MOMENTS).alias("key"))
    return frame.select(*shown)
