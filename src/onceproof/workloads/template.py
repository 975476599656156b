"""JSON objects of typed fields, drawn from the seed: input in the format of a user's own job.

Times, lateness and redelivery are those of page views. The content of an event depends only on the
seed and its id, so a redelivery is the same record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from onceproof.errors import RequestError, unknown
from onceproof.schema.kinds import TEXT, Field, Shape, Tree
from onceproof.workloads import as_is, page_views
from onceproof.workloads.as_is import Record
from onceproof.workloads.typed_fields import Drawn, objects

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
    views = {"keys": 1, "skew": 0.0} | dict(options)
    for view in page_views.events(views, seed, producer):
        yield _table(options, view, seed, producer)


def _table(options: Mapping[str, Any], view: Any, seed: int, producer: int) -> Any:
    times = dict(zip(view["id"].to_pylist(), view["event_ms"].to_pylist(), strict=True))
    ids = sorted(times)
    drawn = Drawn(ids, [times[one] for one in ids], _rng(seed, ids[0]))
    values = dict(zip(ids, objects(options["value"], drawn), strict=True))
    order = view["id"].to_pylist()
    found = [_record(values[one], options["key"]) for one in order]
    made = as_is.table(found, order, producer, "")
    for name in ("event_ms", "kind"):
        made = made.set_column(made.schema.get_field_index(name), name, view[name])
    return made


def _record(fields: Mapping[str, Any], key: str) -> Record:
    value = json.dumps(fields, ensure_ascii=False).encode()
    return Record(str(fields[key]).encode() if key else None, value)


def _rng(seed: int, first: int) -> Any:
    import numpy

    return numpy.random.default_rng([abs(seed), seed < 0, first, len("template")])
