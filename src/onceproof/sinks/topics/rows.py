"""Conversion of rows to records of a topic, and of records to rows.

If the target's columns are those of Spark's Kafka sink (`value`, and any of `key`, `headers`,
`partition` and `timestamp`), each row is a record with these fields. Otherwise the value is one
JSON object with the columns as its members, as Spark's `to_json` writes it. The headers `_batch`
and `_attempt` identify the writer of a record.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.kafka import encodings
from onceproof.kafka.encodings import Avro
from onceproof.sinks import Target
from onceproof.sinks.exact_cells import exact, exact_text, from_json
from onceproof.sinks.files.parquet_rows import WROTE, schema

HEADERS = "array<struct<key:string,value:binary>>"
_RECORD = {"key", "value", "headers", "partition", "timestamp"}
_TEXT = ("string", "binary")
_ROWS_AT_ONCE = 20_000
_MOMENTS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}


def are_records(columns: Mapping[str, str]) -> bool:
    """Whether these columns are the fields of a record."""
    return columns.keys() <= _RECORD and columns.get("value") in _TEXT


def _is_plain(target: Target) -> bool:
    return are_records(target.columns) and encodings.NAME not in target.options


def rows_of(target: Target, records: Iterable[Any]) -> Iterator[Any]:
    """Yield Arrow batches of the target's columns, `_batch` and `_attempt`.

    JSON objects are decoded from the target's `encoding`, if it has one.

    A missing member is NULL, but a missing single key column is taken from the record's key.
    Missing headers are NULL, as in records of other writers. Raises `StackError` for a record with
    a value that its column cannot hold exactly.
    """
    import pyarrow as pa

    wanted = schema(target)
    read = _read_record(target) if _is_plain(target) else _read_value(target)
    some: list[list[Any]] = []
    for record in records:
        with _as_stack_error(target, record):
            some.append([*read(record), *_wrote(record)])
        if len(some) == _ROWS_AT_ONCE:
            yield pa.record_batch(_cells(some, wanted), schema=wanted)
            some = []
    if some:
        yield pa.record_batch(_cells(some, wanted), schema=wanted)


def members_of(target: Target, records: Iterable[Any]) -> list[dict[str, Any]]:
    """Return all members of each record's value, or its fields if the target's columns are those.

    A missing single key column is taken from the record's key. Raises `StackError` for a value that
    is not a JSON object.
    """
    columns = {**target.columns, "partition": "int", "timestamp": "timestamp"}
    fields = _read_record(replace(target, columns=columns))
    is_plain, decode = _is_plain(target), _decoder(target)
    found = []
    for record in records:
        with _as_stack_error(target, record):
            found.append(
                dict(zip(columns, fields(record), strict=True))
                if is_plain
                else _members(target, decode, record)
            )
    return found


@contextmanager
def _as_stack_error(target: Target, record: Any) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StackError(
            f"record {record.offset} of {target.name}, partition {record.partition}, is not a"
            f" row of {', '.join(target.columns)}: {error}"
        ) from None


def _cells(rows: list[list[Any]], wanted: Any) -> list[Any]:
    import pyarrow as pa

    return [
        pa.array(cell, kind)
        for cell, kind in zip(zip(*rows, strict=True), wanted.types, strict=True)
    ]


def _read_record(target: Target) -> Callable[[Any], list[Any]]:
    def read(record: Any) -> list[Any]:
        headers = [one for one in record.headers if one[0] not in WROTE]
        found = {
            "key": record.key,
            "value": record.value,
            "headers": [{"key": name, "value": value} for name, value in headers] or None,
            "partition": record.partition,
            "timestamp": dt.datetime.fromtimestamp(record.timestamp / 1000, tz=dt.UTC),
        }
        return [
            found[name].decode() if kind == "string" and found[name] is not None else found[name]
            for name, kind in target.columns.items()
        ]

    return read


def _read_value(target: Target) -> Callable[[Any], list[Any]]:
    decode = _decoder(target)

    def read(record: Any) -> list[Any]:
        found = _members(target, decode, record)
        return [exact(name, found.get(name), kind) for name, kind in target.columns.items()]

    return read


def _decoder(target: Target) -> Callable[[bytes], Any]:
    """Return the function from a record's value to its members, by the target's `encoding`."""
    given = target.options.get(encodings.NAME)
    return Avro.of(given).decode if given else from_json


def _members(target: Target, decode: Callable[[bytes], Any], record: Any) -> dict[str, Any]:
    only_key = target.key[0] if len(target.key) == 1 else ""
    found = decode(record.value) if record.value is not None else {}
    if not isinstance(found, dict):
        raise ValueError(f"its value is {type(found).__name__}, not a JSON object")
    if only_key in target.columns and only_key not in found and record.key is not None:
        kind = target.columns[only_key]
        found[only_key] = exact_text(only_key, record.key.decode(), kind)
    return found


def _wrote(record: Any) -> list[int | None]:
    headers = dict(record.headers)
    return [int(headers[name]) if name in headers else None for name in WROTE]


def record_target(target: Target) -> Target:
    """Return the target with the fields of its records as columns."""
    if are_records(target.columns):
        return target
    columns = {"value": "string"} | ({"key": "string"} if target.key else {})
    return replace(target, columns=columns)


def as_records(target: Target, frame: Any) -> Any:
    """Return a frame of records; raises if the frame lacks a column of the target.

    A key of one column is its text, a key of several columns a JSON object.
    """
    from pyspark.sql import functions as F

    if missing := [name for name in target.columns if name not in frame.columns]:
        raise RequestError(
            f"the batch has no column {missing[0]}; it must have {', '.join(target.columns)}"
        )
    if are_records(target.columns):
        return frame.select(*target.columns)

    def quoted(names: Any) -> list[Any]:
        return [F.col(f"`{name.replace('`', '``')}`") for name in names]

    fields = [F.to_json(F.struct(*quoted(target.columns)), _MOMENTS).alias("value")]
    if len(target.key) == 1:
        fields.append(quoted(target.key)[0].cast("string").alias("key"))
    elif target.key:
        fields.append(F.to_json(F.struct(*quoted(target.key)), _MOMENTS).alias("key"))
    return frame.select(*fields)
