"""Functions that depend on the order of batches within a key, in plain Python for each key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Steps = Sequence[tuple[int, int]]
Fold = Callable[[Any], Any]


def fold(rows: Any, keys: Sequence[str], more: str, function: Fold) -> Any:
    """Apply a function to the rows of each combination of the keys, and return all its rows.

    The function takes a pandas frame, and returns one with the same columns, the columns that
    `more` declares (it may redeclare one), and `_batch`, which may be null.
    """
    new = [one.split()[0] for one in more.split(", ") if one]
    kept = [name for name in rows.columns if name not in new]
    types = dict(rows.dtypes)
    parts = [f"`{name}` {types[name]}" for name in kept]
    schema = ", ".join([*parts, *([more] if more else []), "_batch long"])
    return rows.groupBy(*keys).applyInPandas(function, schema)


def into_sessions(steps: Steps, gap_ms: int) -> Fold:
    """Return the fold that adds each row's session: its start, end and closing batch."""

    def of_key(frame: Any) -> Any:
        rows = frame.sort_values(["event_ms"])
        by_batch = dict(iter(rows.groupby("batch")))
        open_now: list[list[Any]] = []  # start, end, positions of the rows
        done: dict[Any, tuple[int, int, int | None]] = {}
        for batch, watermark in steps:
            if batch in by_batch:
                times = by_batch[batch]["event_ms"]
                new = [[at, at + gap_ms, [row]] for row, at in times.items()]
                open_now = _merge(sorted(open_now + new, key=lambda one: one[:2]))
            for start, end, members in open_now:
                closing = batch if end <= watermark else None
                done |= dict.fromkeys(members, (start, end, closing))
            open_now = [one for one in open_now if one[1] > watermark]
        return _with(rows, done, ("start_ms", "bound_ms", "_batch"))

    return of_key


def _merge(sessions: list[list[Any]]) -> list[list[Any]]:
    merged: list[list[Any]] = []
    for start, end, members in sessions:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
            merged[-1][2] = merged[-1][2] + members
        else:
            merged.append([start, end, members])
    return merged


def first_in_time(steps: Steps, delay_ms: int) -> Fold:
    """Return the fold that keeps a row of a key if no earlier row is remembered."""
    watermarks = dict(steps)

    def of_key(frame: Any) -> Any:
        rows = frame.sort_values(["batch", "partition", "offset"])
        until: int | None = None
        passed: dict[Any, tuple[int]] = {}
        for row, batch, at in rows[["batch", "event_ms"]].itertuples():
            forgotten = until is not None and until <= watermarks.get(batch - 1, 0)
            if until is None or forgotten:
                passed[row] = (batch,)
                until = at + delay_ms
        return _with(rows.loc[list(passed)], passed, ("_batch",))

    return of_key


def _with(rows: Any, found: dict[Any, tuple[Any, ...]], names: Sequence[str]) -> Any:
    columns = {name: [found[row][place] for row in rows.index] for place, name in enumerate(names)}
    return rows.assign(**columns).astype(dict.fromkeys(names, "Int64"))
