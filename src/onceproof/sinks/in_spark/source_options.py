"""What a query says to `format("onceproof_two_phase")`: its options, and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.protocol import checked_writer

NAME = "onceproof_two_phase"
STORES = {"table": "two_phase_table", "files": "two_phase_files"}
# Each option as it is written, and what it is.
OPTIONS = {
    "store": f"one of {', '.join([*STORES, *STORES.values()])}",
    "address": "postgresql://user@host:port/database, or a folder",
    "name": "schema.table, or the name of a folder below the address",
    "checkpointLocation": "the query's checkpoint, an absolute path",
    "writer": "the name under which the query remembers its batches",
    "attempt": "the start of the job, a whole number from 1",
}
_NEEDED = tuple(OPTIONS)[:4]


def sink_of(options: Mapping[str, str], columns: Mapping[str, str]) -> tuple[str, Target]:
    """Return the sink's name and its target, or raise `RequestError` for the option to blame."""
    known = {name.lower(): name for name in OPTIONS}
    given = {name.lower(): str(text).strip() for name, text in options.items()}
    for name, text in given.items():
        if name not in known:
            raise _wrong(name, text, f"is none of {NAME}: write one of {', '.join(OPTIONS)}")
    for name in _NEEDED:
        if not given.get(name.lower()):
            raise RequestError(f"option {name} of {NAME} is missing: write {OPTIONS[name]}")
    store = given["store"]
    if store not in (*STORES, *STORES.values()):
        raise _wrong("store", store, f"is no store: write {OPTIONS['store']}")
    attempt = given.get("attempt", "1")
    if not attempt.isdecimal() or not int(attempt):
        raise _wrong("attempt", attempt, f"is no number of a start: write {OPTIONS['attempt']}")
    target = Target(
        address=given["address"],
        name=given["name"],
        columns=columns,
        key=(),
        attempt=int(attempt),
        checkpoint=given["checkpointlocation"],
        writer=checked_writer(given["writer"]) if given.get("writer") else "",
    )
    return STORES.get(store, store), target


def columns_of(schema: Any) -> dict[str, str]:
    """Return the columns of a schema of Spark, by Spark's names of their types."""
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _wrong(name: str, text: str, what: str) -> RequestError:
    return RequestError(f"option {name} = {text!r} {what}")
