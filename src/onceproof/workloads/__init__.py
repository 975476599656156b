"""Workloads: functions of options, a seed and a producer's number that return events.

The same arguments give the same events, on every machine and at every speed: nothing reads a clock.
Sending, the sentinel at the end, and the ledger are the same for all workloads.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError
from onceproof.naming import find_attribute
from onceproof.schema.kinds import Field, Shape, Word, number, read_fields, whole
from onceproof.schema.values import BAD, Item, Page
from onceproof.workloads import as_is, follows, page_views, records, template

CONFLUENT, KAFKA_PYTHON = "confluent", "kafka-python"
SENTINEL_KEY = "sentinel"
AHEAD_MS = 24 * 60 * 60 * 1000  # of the sentinel, beyond the newest event
# The options of every workload: the number of events, and how they are sent.
SENDING: Mapping[str, Field] = {
    "events": Field(whole(0, 1_000_000_000), "number of events", 20_000),
    "producers": Field(whole(1, 64), "processes that share them", 1),
    "rate": Field(
        number(0, 10_000_000), "records a second over all producers; 0: as fast as possible", 2000
    ),
    "client": Field(
        Word((CONFLUENT, KAFKA_PYTHON)),
        f"producer client; default: {CONFLUENT} if installed, else {KAFKA_PYTHON}",
        None,
    ),
    "delivery_s": Field(
        number(0, 600),
        "delivery time-out after which a record is sent again; 0: longer than any outage",
        0,
    ),
}


def _as_given(options: Mapping[str, Any], folder: str) -> Mapping[str, Any]:  # noqa: ARG001
    return options


def sentinel(options: Mapping[str, Any], newest_ms: int) -> Any:
    """Return a table with one event far later than the newest, so that every window closes."""
    import pyarrow

    return pyarrow.table(
        {
            "id": pyarrow.array([options["events"]]),
            "producer": pyarrow.array([0], "int32"),
            "key": pyarrow.array([SENTINEL_KEY]),
            "seq": pyarrow.array([1]),
            "event_ms": pyarrow.array([newest_ms + AHEAD_MS]),
            "amount": pyarrow.array([1]),
            "kind": pyarrow.array(["sentinel"]),
        }
    )


@dataclass(frozen=True)
class Workload:
    """A named generator of events, in batches of columns.

    `events` is called with all options, the seed, and a producer from 0 to producers - 1. It yields
    Arrow tables in the order of sending, with the columns `id`, `producer`, `key`, `seq`,
    `event_ms`, `amount` and `kind`: `event`, or `redelivery` for an event sent a second time. Ids
    are unique over all producers and below `events`; `seq` grows within a key of a producer. A
    table with a `value` (binary) has records that are sent as they are: see `as_is.table`. In the
    optional column `awkward` is what is awkward about a record, one of `awkward.NAMES`, or null; in
    `payload` a value's JSON for the ledger, if the value has another encoding.

    `pinned` returns the options for the plan, with files resolved against the scenario's folder.
    `sentinel` returns the table with the last event, or None without such an event.
    """

    name: str
    options: Mapping[str, Field]
    events: Callable[[Mapping[str, Any], int, int], Iterator[Any]]
    pinned: Callable[[Mapping[str, Any], str], Mapping[str, Any]] = _as_given
    sentinel: Callable[[Mapping[str, Any], int], Any] = sentinel

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options with their values; raises `RequestError` for invalid ones."""
        page = Page(f"workload {self.name}")
        item = Item(page, given)
        found = self.read(item, item.fields() or {})
        page.check()
        return found or {}

    def read(self, owner: Item, given: Mapping[str, Item]) -> dict[str, Any] | None:
        """Return all options with their values; None, with errors noted, if one is invalid."""
        fields = {**SENDING, **self.options}
        found = read_fields(owner, given, Shape(fields))
        if BAD in found.values():
            return None
        early = found["delivery_s"]
        found.setdefault("client", CONFLUENT if early or has_confluent() else KAFKA_PYTHON)
        if found["events"] and found["producers"] > found["events"]:
            owner.find("producers").refuse(
                f"{found['producers']} exceeds the number of events, {found['events']};"
                " write fewer producers"
            )
            return None
        if early and found["client"] != CONFLUENT:
            owner.find("delivery_s").refuse(
                f"{found['client']} cannot be used after a time-out; write client: {CONFLUENT}, or"
                " leave delivery_s out"
            )
            return None
        return {name: found[name] for name in fields if name in found}


def has_confluent() -> bool:
    """Whether confluent-kafka is installed: it is the default client if it is."""
    try:
        return importlib.util.find_spec("confluent_kafka") is not None
    except ImportError:  # raised by an import hook
        return False


def _following(options: Mapping[str, Any], seed: int, producer: int) -> Iterator[Any]:
    return follows.events(options, seed, producer, find_workload)


WORKLOADS: tuple[Workload, ...] = (
    Workload("page_views", page_views.OPTIONS, page_views.events),
    Workload("records", records.OPTIONS, records.events, records.pinned, as_is.sentinel),
    Workload("template", template.OPTIONS, template.events, template.pinned, template.sentinel),
    Workload("follows", follows.OPTIONS, _following, follows.pinned, as_is.sentinel),
)


def find_workload(name: str) -> Workload:
    """Return the workload with this name, or the one at `module:attribute`.

    A function of a seed that yields records is a workload too.
    """
    named = {workload.name: workload for workload in WORKLOADS}
    if name in named:
        return named[name]
    use = f"one of {', '.join(named)}, or module:attribute with the module on PYTHONPATH"
    found = find_attribute(name, f"workload {name!r}", use)
    if isinstance(found, Workload):
        return found
    if not callable(found) or isinstance(found, type):
        what = type(found).__name__
        raise RequestError(f"{name} is a {what}; it must be a Workload or a function of a seed")
    return Workload(name, as_is.OPTIONS, as_is.from_function(found), sentinel=as_is.sentinel)
