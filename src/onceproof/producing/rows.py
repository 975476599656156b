"""Sends as rows: the records sent, their partitions, and their outcomes."""

from __future__ import annotations

import copy
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, Self

from onceproof.runs.ledger import TOMBSTONE, UNREADABLE
from onceproof.workloads.awkward import NULL_KEY, unparsable

OK, FAILED, UNKNOWN = "ok", "failed", "unknown"
_NOWHERE = -1
_FIELDS = ("id", "producer", "key", "seq", "event_ms", "amount")
# Headers of records that are sent as they are, instead of ids in their values.
ID, RUN = "onceproof.id", "onceproof.run"
Headers = list[tuple[str, bytes]] | None
_SENT = ["record_key", "value", "headers"]
Row = tuple[int, bytes | None, bytes | None, Headers]


class Sends:
    """A table of sends in progress, with the outcomes that have arrived."""

    def __init__(self, events: Any, run: str, topic: str, partitions: int) -> None:
        """Assign partitions to a table of events; sends nothing."""
        import numpy
        import pyarrow

        self._as_is = events.select(_SENT) if "value" in events.column_names else None
        self._run = run.encode()
        nought = pyarrow.array(numpy.zeros(events.num_rows, dtype=numpy.int8))
        ways = _ways(events)
        self._table = pyarrow.table(
            {
                **{name: events[name] for name in (*_FIELDS, "kind")},
                "event_ms": _times(events["event_ms"], ways),
                "awkward": ways,
                "payload": payloads(events, run) if self._as_is is None else _own_payloads(events),
                "topic": pyarrow.array([topic]).take(nought),
                "partition": _partitions(events, partitions),
            }
        )
        self.partitions = partitions
        self._open_all()

    def _open_all(self) -> None:
        self._offsets = [_NOWHERE] * len(self)
        self.open = len(self)
        self.acknowledged = 0

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def rows(self, begin: int, end: int) -> Iterator[Row]:
        """Yield partition, key, value and headers of the sends from `begin` up to `end`."""
        part = self._table.slice(begin, end - begin)
        places = part["partition"].to_pylist()
        if self._as_is is None:
            keys, values = (part[name].cast("binary").to_pylist() for name in ("key", "payload"))
            headers = self._disturb(part, keys)
            return zip(places, keys, values, headers, strict=False)
        own = self._as_is.slice(begin, end - begin)
        keys, values, headers = (own[name].to_pylist() for name in _SENT)
        all_headers = map(self._headers, headers, part["id"].to_pylist())
        return zip(places, keys, values, all_headers, strict=True)

    def _disturb(self, part: Any, keys: list[Any]) -> Iterable[Headers]:
        """Remove the null keys, and return headers for events that may have no id in the value."""
        import pyarrow.compute as compute

        if part["awkward"].null_count == len(part):
            return repeat(None)
        headers: list[Headers] = [None] * len(part)
        found = compute.indices_nonzero(part["awkward"].is_valid())
        cells = (part[name].take(found).to_pylist() for name in ("id", "awkward"))
        for place, number, way in zip(found.to_pylist(), *cells, strict=True):
            headers[place] = self._headers([], number)
            if way == NULL_KEY:
                keys[place] = None
        return headers

    def spread(self, begin: int, partitions: int) -> None:
        """Assign the sends from `begin` on to more partitions."""
        import pyarrow

        kept = self._table["partition"].slice(0, begin)
        changed = _partitions(self._table.slice(begin), partitions)
        column = pyarrow.chunked_array([*kept.chunks, changed], "int32")
        number = self._table.schema.get_field_index("partition")
        self._table = self._table.set_column(number, "partition", column)
        self.partitions = partitions

    def repeated(self, places: Sequence[int]) -> Self:
        """Return some of the sends as redeliveries, with outcomes of their own."""
        import pyarrow

        other = copy.copy(self)
        kind = pyarrow.array(["redelivery"] * len(places))
        number = self._table.schema.get_field_index("kind")
        other._table = self._table.take(places).set_column(number, "kind", kind)
        other._as_is = self._as_is and self._as_is.take(places)
        other._open_all()
        return other

    def _headers(self, own: list[dict[str, Any]], number: int) -> Headers:
        named = [(one["name"], one["value"]) for one in own]
        return [*named, (ID, b"%d" % number), (RUN, self._run)]

    def acknowledge(self, place: int, offset: int | None) -> None:
        """Note that a send is in the topic; the client may not know its offset."""
        if offset is not None and offset >= 0:
            self._offsets[place] = offset
        self.acknowledged += 1
        self.open -= 1

    def fail(self) -> None:
        """Note that a send ended in an error; it may still be in the topic."""
        self.open -= 1

    def write(self, path: Path) -> None:
        """Write the ledger's rows; a send without offset is unknown until the topic is read."""
        import numpy
        import pyarrow

        offsets = numpy.array(self._offsets, dtype=numpy.int64)
        is_lost = offsets == _NOWHERE
        acks = pyarrow.array([OK, UNKNOWN]).take(pyarrow.array(is_lost.astype(numpy.int8)))
        column = pyarrow.array(offsets, mask=is_lost)
        write_rows(self._table.append_column("offset", column).append_column("ack", acks), path)


def write_rows(table: Any, path: Path) -> None:
    """Write a file of the ledger atomically."""
    import pyarrow.parquet as parquet

    half_made = path.with_name(f"_{path.name}")
    parquet.write_table(table, half_made, compression="zstd")
    os.replace(half_made, path)


def _partitions(events: Any, partitions: int) -> Any:
    """Return the partition of each event: by its key, or round-robin without a key."""
    import pyarrow

    if events["key"].null_count:
        rows = zip(events["key"].to_pylist(), events["id"].to_pylist(), strict=True)
        places = [
            number % partitions if key is None else partition_of(key, partitions)
            for key, number in rows
        ]
        return pyarrow.array(places, "int32")
    keys = events["key"].combine_chunks().dictionary_encode()
    places = [partition_of(key, partitions) for key in keys.dictionary.to_pylist()]
    return pyarrow.array(places, "int32").take(keys.indices)


def partition_of(key: str, partitions: int) -> int:
    """Return the partition of a key, which is the same on every machine and for every client."""
    return zlib.crc32(key.encode()) % partitions


def _own_payloads(events: Any) -> Any:
    """Return the values of records that are sent as they are; as JSON if they are encoded."""
    return events["payload" if "payload" in events.column_names else "value"]


def _ways(events: Any) -> Any:
    """Return what is awkward about each event, null for most or all."""
    import pyarrow

    if "awkward" in events.column_names:
        return events["awkward"]
    return pyarrow.nulls(events.num_rows, "string")


def _times(event_ms: Any, ways: Any) -> Any:
    """Return the event times, null where no event can be read."""
    import pyarrow
    import pyarrow.compute as compute

    if ways.null_count == len(ways):
        return event_ms
    is_unreadable = compute.is_in(ways, pyarrow.array(UNREADABLE))
    return compute.if_else(is_unreadable, pyarrow.scalar(None, "int64"), event_ms)


def payloads(events: Any, run: str) -> Any:
    """Return the JSON text of each event, as `json.dumps` without blanks writes it.

    A tombstone is null, and an unparsable event another text.
    """
    import pyarrow
    import pyarrow.compute as compute

    keys = events["key"].combine_chunks().dictionary_encode()
    quoted = pyarrow.array([json.dumps(key) for key in keys.dictionary.to_pylist()], "string")
    cells = {name: events[name] for name in _FIELDS} | {"key": quoted.take(keys.indices)}
    parts: list[Any] = []
    for name, cell in cells.items():
        parts += [f'{"," if parts else "{"}"{name}":', cell.cast("string")]
    texts = compute.binary_join_element_wise(*parts, f',"run":{json.dumps(run)}}}', "")
    ways = _ways(events)
    if ways.null_count == len(ways):
        return texts
    is_unreadable = compute.is_in(ways, pyarrow.array(UNREADABLE)).combine_chunks()
    columns = (texts, ways, events["id"])
    rows = zip(*(one.filter(is_unreadable).to_pylist() for one in columns), strict=True)
    others = pyarrow.array([_payload(*row) for row in rows], "string")
    return compute.replace_with_mask(texts.combine_chunks(), is_unreadable, others)


def _payload(text: str, way: str, number: int) -> str | None:
    return None if way == TOMBSTONE else unparsable(text, number)
