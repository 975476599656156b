"""The origin of a differing row: its batch, its attempt, and its place in the input."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from onceproof.checkpoint.log import planned
from onceproof.database import cursor
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import by_partition, or_none
from onceproof.runs.ledger import Partition, query_parquet

Row = Mapping[str, Any]
Place = tuple[str, int, int]  # topic, partition, offset
_PLACES = """
    select id, topic, "partition", "offset" from {rows}
    where "offset" is not null and id in (select unnest(getvariable('ids')))"""


def origins(run: RunDirectory, details: Sequence[Row]) -> list[dict[str, Any]]:
    """Return for each differing key `topic`, `partition`, `offset`, `batch`, `attempt`, `by`.

    A lost row is attributed to the batch that should have emitted it. A duplicated or unexpected
    row is attributed to the attempt that wrote it, of several copies the last. A changed row is
    attributed to the later of the wrong row and the missing correct one. `by` is `sink` if one
    batch wrote the same row too often. Unknown values are None.

    If rows have no batch number, a key is attributed to the batch that first read it, with `by` =
    `input`, or `unread` if the query began after it.
    """
    blamed = [_written(detail) for detail in details]
    ids = [row.get("id") for row, _ in blamed]
    places = _deliveries(run, [one for one in ids if isinstance(one, int)])
    ranges: dict[Any, Mapping[Partition, range] | None] = {}
    found = []
    for (row, by), one, detail in zip(blamed, ids, details, strict=True):
        if (inferred := _by_input(detail)) is not None:
            found.append(inferred)
            continue
        batch = row.get("_batch")
        if batch not in ranges:
            ranges[batch] = or_none(lambda batch=batch: _ranges(run, batch))  # type: ignore[misc]
        place = _place(places.get(one, []), ranges[batch])
        at = dict(zip(("topic", "partition", "offset"), place or (None,) * 3, strict=True))
        found.append({**at, "batch": batch, "attempt": row.get("_attempt"), "by": by})
    return found


def _by_input(detail: Row) -> dict[str, Any] | None:
    """Return where the key was read, by the expected rows; None if the rows have batch numbers."""
    read = [row for row in detail["expected"] if "_offset" in row]
    if not read:
        return None
    (row, *_) = read
    place = {name: row[f"_{name}"] for name in ("topic", "partition", "offset", "batch")}
    return {**place, "attempt": None, "by": "unread" if row["_unread"] else "input"}


def _written(detail: Row) -> tuple[Row, str | None]:
    """Return the row to blame, and `sink` if it is a copy too many of its batch."""
    expected, observed = detail["expected"], detail["observed"]
    names = {name for row in (*expected, *observed) for name in row} - {"_attempt"}
    if expected and observed:
        names &= expected[0].keys() & observed[0].keys()
    missing = _without(expected, observed, names)
    extra = _without(observed, expected, names)
    match detail["class"]:
        case "lost":
            return next(iter([*missing, *expected]), {}), None
        case "changed":
            return max([*extra, *missing], key=_batch, default={}), None
    row = next(reversed(extra), {})
    copies = [other for other in observed if _values(other, names) == _values(row, names)]
    return row, "sink" if "_batch" in names and len(copies) > 1 else None


def _without(rows: Sequence[Row], others: Sequence[Row], names: set[str]) -> list[Row]:
    """Return the rows less one for each equal row of the others, earlier attempts first."""
    left = Counter(_values(other, names) for other in others)
    found = []
    for row in sorted(rows, key=lambda row: (_batch(row), row.get("_attempt") or 0)):
        left[_values(row, names)] -= 1
        if left[_values(row, names)] < 0:
            found.append(row)
    return found


def _values(row: Row, names: set[str]) -> str:
    return repr([row.get(name) for name in sorted(names)])  # NaN equals NaN


def _batch(row: Row) -> int:
    found = row.get("_batch")
    return -1 if found is None else int(found)


def _deliveries(run: RunDirectory, ids: list[int]) -> Mapping[Any, list[Place]]:
    """Return the places of these events by the ledger; an event that was resent has several."""
    found: dict[Any, list[Place]] = defaultdict(list)
    if ids:
        store = cursor()
        store.execute("set variable ids = ?::bigint[]", [ids])
        for one, *place in or_none(lambda: query_parquet(run.ledger, _PLACES, store)) or []:
            found[one].append((place[0], place[1], place[2]))
    return found


def _ranges(run: RunDirectory, batch: int) -> Mapping[Partition, range]:
    ends = by_partition(planned(run.checkpoint_log, batch).offsets)
    starts = by_partition(planned(run.checkpoint_log, batch - 1).offsets) if batch else {}
    return {at: range(starts.get(at, 0), end) for at, end in ends.items()}


def _place(found: Sequence[Place], ranges: Mapping[Partition, range] | None) -> Place | None:
    """Return the place, of several the one that the batch has read; None if it is not unique."""
    if len(found) > 1 and ranges is not None:
        found = [one for one in found if one[2] in ranges.get((one[0], one[1]), ())]
    return found[0] if len(found) == 1 else None
