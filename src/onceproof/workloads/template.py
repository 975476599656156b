"""Objects of typed fields, drawn from the seed: input in the format of a user's own job.

Times, lateness and redelivery are those of page views. The content of an event depends only on the
seed and its id, so a redelivery is the same record. Of an awkward event one field is, or the whole
record; which ways are possible depends on the types of the fields, and on the encoding.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError, invalid, unknown
from onceproof.kafka import encodings
from onceproof.kafka.encodings import Avro
from onceproof.runs.ledger import TOMBSTONE, UNPARSABLE
from onceproof.schema.kinds import TEXT, Field, Shape, Tree
from onceproof.workloads import as_is, awkward, page_views
from onceproof.workloads.as_is import Record
from onceproof.workloads.awkward import Awkward, awkward_events
from onceproof.workloads.typed_fields import Choices, Drawn, awkward_choices, objects, replace

OPTIONS: Mapping[str, Field] = {
    "value": Field(
        Shape({}, others=Tree()),
        "the fields of the JSON object, such as {order_id: id, amount: int 1 100}",
    ),
    "key": Field(TEXT, "the field that is the record's key too", ""),
    **{name: one for name, one in page_views.OPTIONS.items() if name not in ("keys", "skew")},
    "sentinel": as_is.OPTIONS["sentinel"],
    "encoding": Field(encodings.KIND, "the encoding of the value; default: JSON", None),
}
_WHOLE_RECORD = (awkward.SAME_TIME, TOMBSTONE, UNPARSABLE)
# The record, and its value as JSON; as sent if it holds no event.
Sent = tuple[Record, bytes | None]


def pinned(options: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
    """Return the options with an absolute path; raises for fields of an unknown type."""
    if not options["value"]:
        raise RequestError("value is empty; write fields, such as {order_id: id}")
    (sample,) = objects(options["value"], Drawn([0], [page_views.START_MS], _rng(0, 0)))
    if options["key"] and options["key"] not in options["value"]:
        raise RequestError(unknown("key", options["key"], options["value"]))
    if "encoding" not in options:
        return options
    given = encodings.in_folder(options["encoding"], folder)
    last = [_sentinel_of(options)] if options["sentinel"] else []
    for value in (sample, *last):
        if why := Avro.of(given).misfit(value):
            raise RequestError(f"encoding: {why}; change the schema, or the fields")
    return {**options, "encoding": given}


def _sentinel_of(options: Mapping[str, Any]) -> Any:
    try:
        return json.loads(options["sentinel"])
    except ValueError:
        use = "a JSON object, which is sent in the encoding"
        raise RequestError(f"sentinel: {invalid('value', options['sentinel'], use)}") from None


def sentinel(options: Mapping[str, Any], newest_ms: int) -> Any:
    """Return the user's own last record, in the encoding; None without one."""
    made = as_is.sentinel(options, newest_ms)
    if made is None or not (avro := _encoding(options)):
        return made
    value = _binary([avro.encode(_sentinel_of(options))])
    payload = made["value"]
    number = made.schema.get_field_index("value")
    return made.set_column(number, "value", value).append_column("payload", payload)


def events(options: Mapping[str, Any], seed: int, producer: int) -> Iterator[Any]:
    """Yield the events of one producer, in the order of sending."""
    views = {"keys": 1, "skew": 0.0} | dict(options) | {"awkward": None}
    avro = _encoding(options)
    fields = options["value"]
    choices: Choices = {}
    if options.get("awkward"):
        choices = awkward_choices(fields, lambda made: not (avro and avro.misfit(made)))
    maker = _Maker(options, avro, choices)
    for view in page_views.events(views, seed, producer):
        yield maker.table(view, seed, producer)


def _encoding(options: Mapping[str, Any]) -> Avro | None:
    return Avro.of(options["encoding"]) if "encoding" in options else None


@dataclass(frozen=True)
class _Maker:
    options: Mapping[str, Any]
    avro: Avro | None
    choices: Choices

    def table(self, view: Any, seed: int, producer: int) -> Any:
        """Return the events of these views, with the times and the order of the views."""
        import pyarrow

        times = dict(zip(view["id"].to_pylist(), view["event_ms"].to_pylist(), strict=True))
        ids = sorted(times)
        odd = self._awkward_events(seed, ids)
        for number in (number for number, one in odd.items() if one.name == awkward.SAME_TIME):
            times[number] = times[ids[awkward.neighbour(number - ids[0], len(ids))]]
        drawn = Drawn(ids, [times[one] for one in ids], _rng(seed, ids[0]))
        values = objects(self.options["value"], drawn)
        sent = {one: self._sent(of, odd.get(one)) for one, of in zip(ids, values, strict=True)}
        order = view["id"].to_pylist()
        made = as_is.table([sent[one][0] for one in order], order, producer, "")
        columns = {"event_ms": pyarrow.array([times[one] for one in order]), "kind": view["kind"]}
        for name, column in columns.items():
            made = made.set_column(made.schema.get_field_index(name), name, column)
        if self.avro:
            made = made.append_column("payload", _binary([sent[one][1] for one in order]))
        if self.options.get("awkward"):
            names = [odd[one].name if one in odd else None for one in order]
            made = made.append_column("awkward", pyarrow.array(names, "string"))
        return made

    def _awkward_events(self, seed: int, ids: list[int]) -> dict[int, Awkward]:
        """Return the awkward ones of consecutive events, in the ways that the fields permit."""
        share, of = self.options.get("awkward"), self.options["events"]
        null_key = (awkward.NULL_KEY,) if self.options["key"] else ()
        names = (*null_key, *self.choices, *_WHOLE_RECORD)
        found = awkward_events(share, seed, ids[0], ids[-1] + 1, of, names)
        return {one.id: one for one in found}

    def _sent(self, fields: dict[str, Any], how: Awkward | None) -> Sent:
        if how:
            replace(fields, self.choices, how)
        name, way = self.options["key"], how.name if how else ""
        key = str(fields[name]).encode() if name and fields[name] is not None else None
        text = json.dumps(fields, ensure_ascii=False)
        value = self.avro.encode(fields) if self.avro else text.encode()
        if how and way == TOMBSTONE:  # one without a key is refused by kafka-python
            return Record(key or b"%d" % how.id, None), None
        if how and way == UNPARSABLE:
            broken = how.one_of(self._unparsable(text, value, how.draw))
            return Record(key, broken), broken
        return Record(None if way == awkward.NULL_KEY else key, value), text.encode()

    def _unparsable(self, text: str, value: bytes, draw: int) -> list[bytes]:
        """Return bytes from which no value can be read; Avro of another length may be a value."""
        if self.avro is None:
            return [*(awkward.unparsable(text, draw).encode(),) * 5, awkward.NOT_UTF_8]
        others = [text.encode(), b"\1" + value[1:]] if self.avro.schema_id is not None else []
        return [value[: len(value) // 2], b"", *others]


def _binary(cells: list[bytes | None]) -> Any:
    import pyarrow

    return pyarrow.array(cells, "binary")


def _rng(seed: int, first: int) -> Any:
    import numpy

    return numpy.random.default_rng([abs(seed), seed < 0, first, len("template")])
