"""Records that are sent as they are: key, value and headers are the user's own bytes.

The id and the run of an event are in two additional Kafka headers, so the job parses its usual
records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from onceproof.errors import RequestError
from onceproof.schema.kinds import TEXT, Field

OPTIONS: Mapping[str, Field] = {
    "sentinel": Field(TEXT, "the value of a last record, much later than all others", ""),
    "event_time": Field(TEXT, "the field of the value with the event time, such as order.at", ""),
}
_CHUNK = 20_000
_IN_MS = 100_000_000_000  # numbers from here on are milliseconds, smaller ones seconds


@dataclass(frozen=True)
class Record:
    """A Kafka record as it is sent."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def of(cls, made: Any, where: str) -> Record:
        """Return the record that a user's function yields: a value, or key, value and headers."""
        key, value, headers = ((None, made, {}) if _is_content(made) else (*made, {}, {}))[:3]
        if not (_is_content(key) and _is_content(value)):
            raise RequestError(
                f"{where} is not a record; yield (key, value), each bytes, str or None"
            )
        named = headers.items() if isinstance(headers, Mapping) else headers
        return cls(_bytes(key), _bytes(value), tuple((name, _bytes(of)) for name, of in named))


def _is_content(made: Any) -> bool:
    return made is None or isinstance(made, str | bytes)


def _bytes(text: Any) -> Any:
    return text.encode() if isinstance(text, str) else text


def from_function(function: Callable[[int], Iterable[Any]]) -> Any:
    """Return the `events` of a workload whose records a function of the seed yields."""

    def events(options: Mapping[str, Any], seed: int, producer: int) -> Iterator[Any]:
        first, end = share(options, producer)
        records = islice(iter(function(seed)), first, end)
        for begin in range(first, end, _CHUNK):
            some = list(islice(records, min(_CHUNK, end - begin)))
            found = [Record.of(one, f"an item of {function.__name__}") for one in some]
            if len(found) < min(_CHUNK, end - begin):
                raise RequestError(
                    f"{function.__name__} yields {begin + len(found):,} records, but events is"
                    f" {options['events']:,}; write fewer events"
                )
            yield table(found, range(begin, begin + len(found)), producer, options["event_time"])

    return events


def share(options: Mapping[str, Any], producer: int) -> tuple[int, int]:
    """Return the range of a producer's ids: the first one, and the end (exclusive)."""
    count, producers = options["events"], options["producers"]
    return count * producer // producers, count * (producer + 1) // producers


def table(
    found: Sequence[Record], ids: Sequence[int], producer: int, event_time: str, kind: str = "event"
) -> Any:
    """Return records as a table of events: the ledger's columns, and the record's own fields.

    `event_ms` is null without `event_time`; `key` is the record's key as text.
    """
    import pyarrow as pa

    count = len(found)
    headers = pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))
    cells = [[{"name": name, "value": of} for name, of in one.headers] for one in found]
    keys = [None if one.key is None else one.key.decode(errors="replace") for one in found]
    times = [time_of(one.value, event_time) if event_time else None for one in found]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "producer": pa.array([producer] * count, pa.int32()),
            "key": pa.array(keys, pa.string()),
            "seq": pa.array(ids, pa.int64()),
            "event_ms": pa.array(times, pa.int64()),
            "amount": pa.array([1] * count, pa.int64()),
            "kind": pa.array([kind] * count, pa.string()),
            "record_key": pa.array([one.key for one in found], pa.binary()),
            "value": pa.array([one.value for one in found], pa.binary()),
            "headers": pa.array(cells, headers),
        }
    )


def sentinel(options: Mapping[str, Any], newest_ms: int) -> Any:  # noqa: ARG001  the contract
    """Return the user's own last record; None without one."""
    if not options["sentinel"]:
        return None
    last = Record(None, options["sentinel"].encode())
    event_time = options.get("event_time", "")
    return table([last], [options["events"]], 0, event_time, "sentinel")


def time_of(value: bytes | None, path: str) -> int:
    """Return the event time of a value in milliseconds; raises `RequestError`."""
    found: Any = None
    try:
        found = json.loads(value or b"null")
        for name in path.split("."):
            found = found[name]
        if isinstance(found, str):
            at = datetime.fromisoformat(found)
            return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
        return int(found if found >= _IN_MS else found * 1000)
    except (ValueError, KeyError, TypeError):
        text = (value or b"")[:80].decode(errors="replace")
        raise RequestError(
            f"event_time {path!r} is not a time in record {text!r}; name a field with a number of"
            " (milli)seconds or an ISO 8601 text, or leave event_time out"
        ) from None
