"""Events that belong to those of another input: payments for orders, clicks for views.

Each event follows one event of the other input, drawn from the seed: it has fields of that event,
and an event time some seconds later. A share of them follow events that never were.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from onceproof.errors import RequestError, invalid, missing, unknown
from onceproof.schema.kinds import TEXT, Field, Shape, Tree, number, text
from onceproof.workloads import as_is
from onceproof.workloads.as_is import Record
from onceproof.workloads.typed_fields import Drawn, objects

_SHARE = number(0, 1)
_SPAN = "least and most seconds, such as 0 1200"
_CHUNK = 20_000
OPTIONS: Mapping[str, Field] = {
    "follows": Field(TEXT, "the input whose events it follows"),
    "value": Field(
        Shape({}, others=Tree()),
        "the fields of the JSON object, such as {order_id: orders.order_id, paid: int 1 100}",
    ),
    "key": Field(TEXT, "the field that is the record's key too", ""),
    "after_s": Field(
        text(r"\d{1,8} \d{1,8}", _SPAN), "least and most seconds after the followed event", "0 60"
    ),
    "strangers": Field(_SHARE, "share that follows an event that never was", 0.0),
    "redelivered": Field(_SHARE, "share of the events that is sent a second time", 0.0),
    "sentinel": as_is.OPTIONS["sentinel"],
    "followed": Field(TEXT, "the followed workload as JSON; the plan sets it", ""),
}


def pinned(options: Mapping[str, Any], folder: str) -> Mapping[str, Any]:  # noqa: ARG001
    """Return the options; raises for fields of an unknown type and for a strange time."""
    name, value, key = options["follows"], options["value"], options["key"]
    if not any(_is_of(name, one) for one in value.values()):
        raise RequestError(missing("a field of the followed event", f"FIELD: {name}.FIELD"))
    if key and key not in value:
        raise RequestError(unknown("key", key, value))
    least, most = _span(options)
    if least > most:
        raise RequestError(invalid("after_s", options["after_s"], _SPAN))
    objects(_own(name, value), Drawn([0], [0], _rng(0)))
    return options


def events(
    options: Mapping[str, Any], seed: int, producer: int, find: Callable[[str], Any]
) -> Iterator[Any]:
    """Yield the events of one producer in the order of their times, as they are sent."""
    rng, count = _rng(seed), options["events"]
    followed = _followed(options, find)
    if count > len(followed):
        raise RequestError(
            f"events is {count:,}, but {options['follows']} has {len(followed):,} to follow; write"
            " fewer events"
        )
    least, most = (second * 1000 for second in _span(options))
    later = rng.integers(least, most, count, endpoint=True).tolist()
    chosen = (followed[one] for one in rng.permutation(len(followed))[:count])
    moved = ((at + more, fields) for (fields, at), more in zip(chosen, later, strict=True))
    times, of = zip(*sorted(moved, key=lambda one: one[0]), strict=True)
    own = objects(_own(options["follows"], options["value"]), Drawn(range(count), times, rng))
    strange, again = (_some(options[name], count, rng) for name in ("strangers", "redelivered"))
    first, end = as_is.share(options, producer)
    for begin in range(first, end, _CHUNK):
        ids = range(begin, min(begin + _CHUNK, end))
        rows = {
            one: _record(options, own[one] if own else {}, of[one], is_strange=one in strange)
            for one in ids
        }
        for kind, some in (("event", ids), ("redelivery", [one for one in ids if one in again])):
            if some:
                at = [times[one] for one in some]
                yield _table([rows[one] for one in some], some, at, producer, kind)


def _span(options: Mapping[str, Any]) -> tuple[int, int]:
    least, most = map(int, options["after_s"].split())
    return least, most


def _some(share: float, count: int, rng: Any) -> set[int]:
    return set(rng.permutation(count)[: round(share * count)].tolist())


def _table(
    found: Sequence[Record], ids: Sequence[int], times: Sequence[int], producer: int, kind: str
) -> Any:
    import pyarrow

    made = as_is.table(found, ids, producer, "", kind)
    at = made.schema.get_field_index("event_ms")
    return made.set_column(at, "event_ms", pyarrow.array(times, pyarrow.int64()))


def _followed(options: Mapping[str, Any], find: Callable[[str], Any]) -> list[tuple[Any, int]]:
    """Return the fields and the time of each event of the followed workload, by their ids."""
    of = json.loads(options["followed"])
    workload = find(of["workload"])
    resolved = workload.resolve(of["options"])
    found: dict[int, tuple[Any, int]] = {}
    for producer in range(resolved["producers"]):
        for table in workload.events(resolved, of["seed"], producer):
            for row in table.to_pylist():
                if row["kind"] == "event":
                    fields = json.loads(row["value"]) if "value" in row else row
                    found[row["id"]] = fields, row["event_ms"] or 0
    return [found[one] for one in sorted(found)]


def _record(
    options: Mapping[str, Any], own: Mapping[str, Any], of: Mapping[str, Any], *, is_strange: bool
) -> Record:
    fields = {
        name: _field(options["follows"], given, of, is_strange=is_strange)
        if _is_of(options["follows"], given)
        else own[name]
        for name, given in options["value"].items()
    }
    key = str(fields[options["key"]]).encode() if options["key"] else None
    return Record(key, json.dumps(fields, ensure_ascii=False).encode())


def _field(name: str, given: str, of: Mapping[str, Any], *, is_strange: bool) -> Any:
    """Return a field of the followed event, or one that no event has."""
    path = given.removeprefix(f"{name}.")
    if path not in of:
        raise RequestError(unknown(f"field of {name}", path, of))
    if not is_strange:
        return of[path]
    return -1 - of[path] if isinstance(of[path], int | float) else f"no {of[path]}"


def _is_of(name: str, given: Any) -> bool:
    return isinstance(given, str) and given.startswith(f"{name}.")


def _own(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {field: given for field, given in value.items() if not _is_of(name, given)}


def _rng(seed: int) -> Any:
    import numpy

    return numpy.random.default_rng([abs(seed), seed < 0, len("follows")])
