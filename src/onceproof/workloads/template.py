"""JSON objects of typed fields, drawn from the seed: input in the format of a user's own job.

Times, lateness and redelivery are those of page views. The content of an event depends only on the
seed and its id, so a redelivery is the same record. Of an awkward event one field is, or the whole
record; which ways are possible depends on the types of the fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from onceproof.errors import RequestError, unknown
from onceproof.runs.ledger import TOMBSTONE, UNPARSABLE
from onceproof.schema.kinds import TEXT, Field, Shape, Tree
from onceproof.workloads import as_is, awkward, page_views
from onceproof.workloads.as_is import Record
from onceproof.workloads.awkward import Awkward, awkward_events
from onceproof.workloads.typed_fields import Drawn, awkward_fields, objects, replace

OPTIONS: Mapping[str, Field] = {
    "value": Field(
        Shape({}, others=Tree()),
        "the fields of the JSON object, such as {order_id: id, amount: int 1 100}",
    ),
    "key": Field(TEXT, "the field that is the record's key too", ""),
    **{name: one for name, one in page_views.OPTIONS.items() if name not in ("keys", "skew")},
    "sentinel": as_is.OPTIONS["sentinel"],
}


def pinned(options: Mapping[str, Any], folder: str) -> Mapping[str, Any]:  # noqa: ARG001
    """Return the options; raises for fields of an unknown type."""
    if not options["value"]:
        raise RequestError("value is empty; write fields, such as {order_id: id}")
    objects(options["value"], Drawn([0], [0], _rng(0, 0)))
    if options["key"] and options["key"] not in options["value"]:
        raise RequestError(unknown("key", options["key"], options["value"]))
    return options


def events(options: Mapping[str, Any], seed: int, producer: int) -> Iterator[Any]:
    """Yield the events of one producer, in the order of sending."""
    views = {"keys": 1, "skew": 0.0} | dict(options) | {"awkward": None}
    for view in page_views.events(views, seed, producer):
        yield _table(options, view, seed, producer)


def _table(options: Mapping[str, Any], view: Any, seed: int, producer: int) -> Any:
    import pyarrow

    times = dict(zip(view["id"].to_pylist(), view["event_ms"].to_pylist(), strict=True))
    ids = sorted(times)
    found = {one.id: one for one in _awkward_events(options, seed, ids)}
    for one in found.values():
        if one.name == awkward.SAME_TIME:
            place = one.id - ids[0]
            times[one.id] = times[ids[awkward.neighbour(place, len(ids))]]
    drawn = Drawn(ids, [times[one] for one in ids], _rng(seed, ids[0]))
    records = {
        one: _record(fields, options, found.get(one))
        for one, fields in zip(ids, objects(options["value"], drawn), strict=True)
    }
    order = view["id"].to_pylist()
    made = as_is.table([records[one] for one in order], order, producer, "")
    columns = {"event_ms": pyarrow.array([times[one] for one in order]), "kind": view["kind"]}
    for name, column in columns.items():
        made = made.set_column(made.schema.get_field_index(name), name, column)
    ways = [found[one].name if one in found else None for one in order]
    return made.append_column("awkward", pyarrow.array(ways, "string")) if found else made


def _awkward_events(options: Mapping[str, Any], seed: int, ids: list[int]) -> list[Awkward]:
    """Return the awkward ones of consecutive events, in the ways that the fields permit."""
    names = (
        *(awkward.NULL_KEY,) * bool(options["key"]),
        *awkward_fields(options["value"]),
        *(awkward.SAME_TIME, TOMBSTONE, UNPARSABLE),
    )
    of = options["events"]
    return awkward_events(options.get("awkward"), seed, ids[0], ids[-1] + 1, of, names)


def _record(fields: Any, options: Mapping[str, Any], how: Awkward | None) -> Record:
    if how:
        replace(fields, options["value"], how)
    name = options["key"]
    key = str(fields[name]).encode() if name and fields[name] is not None else None
    value = json.dumps(fields, ensure_ascii=False)
    if how is None or how.name not in (awkward.NULL_KEY, TOMBSTONE, UNPARSABLE):
        return Record(key, value.encode())
    if how.name == awkward.NULL_KEY:
        return Record(None, value.encode())
    if how.name == TOMBSTONE:  # Kafka has none without a key
        return Record(key or b"%d" % how.id, None)
    broken = awkward.unparsable(value, how.draw).encode()
    return Record(key, how.one_of((*(broken,) * 5, awkward.NOT_UTF_8)))


def _rng(seed: int, first: int) -> Any:
    import numpy

    return numpy.random.default_rng([abs(seed), seed < 0, first, len("template")])
