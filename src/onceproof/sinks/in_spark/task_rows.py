"""A batch's rows on their way into a store, whatever the sink: chosen, halved, and as CSV."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from onceproof import failpoints
from onceproof.errors import RequestError
from onceproof.sinks import Target


def chosen(target: Target, frame: Any) -> Any:
    """Return the frame with the target's columns only, or raise if it lacks one."""
    if missing := [name for name in target.columns if name not in frame.columns]:
        raise RequestError(
            f"the batch has no column {missing[0]}: write {', '.join(target.columns)}"
        )
    return frame.select(*(f"`{name.replace('`', '``')}`" for name in target.columns))


def drain(frame: Any) -> None:
    """Run a batch's plan for nothing, as a stateful query needs it of a batch that is known."""
    frame.write.format("noop").mode("overwrite").save()


def by_half(rows: Iterator[Any], batch: int, partition: int) -> Iterator[Any]:
    """Yield a task's rows, and come to `task_mid` when half of them were taken."""
    half = 0
    if failpoints.is_armed("task_mid", batch):
        whole = list(rows)
        half = sum(one.num_rows for one in whole) // 2
        rows = cut(whole, half)
    taken = 0
    for some in rows:
        yield some
        taken += some.num_rows
        if half and taken == half:
            failpoints.reached("task_mid", batch, partition=partition)


def cut(rows: list[Any], at: int) -> Iterator[Any]:
    """Yield the same rows so that a piece ends after `at` of them."""
    before = 0
    for some in rows:
        inside = at - before
        before += some.num_rows
        if 0 < inside < some.num_rows:
            yield some.slice(0, inside)
            yield some.slice(inside)
        else:
            yield some


def as_csv(rows: Any) -> bytes:
    """Return rows as CSV; NULL is nothing, an empty text is quoted."""
    import pyarrow.csv as csv

    text = io.BytesIO()
    csv.write_csv(rows, text, csv.WriteOptions(include_header=False))
    return text.getvalue()
