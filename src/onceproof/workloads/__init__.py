"""A workload is a function of options, a seed and a producer's number to events.

The same arguments give the same events, on every machine and at every speed: nothing reads a clock.
Sending them, the sentinel after them, and the ledger of what was sent are alike for all workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError
from onceproof.naming import find_attribute
from onceproof.workloads import as_is, page_views, records, template
from onceproof.workloads.options import CONFLUENT, Client, Number, Option, Whole, resolve
from onceproof.workloads.sentinel import sentinel as _far_ahead

# What every workload has: how many events, and how they are sent. `rate` is records a second over
# all producers; 0 is as fast as possible. `delivery_s` is how long a record may wait for its
# acknowledgement until it is sent again; 0 is longer than any outage.
SENDING: Mapping[str, Option] = {
    "events": Whole(20_000, 0, 1_000_000_000),
    "producers": Whole(1, 1, 64),
    "rate": Number(2000, 10_000_000, 2000),
    "client": Client(),
    "delivery_s": Number(0, 600, 2),
}


def _as_given(options: Mapping[str, Any], folder: str) -> Mapping[str, Any]:  # noqa: ARG001
    return options


def _ours(options: Mapping[str, Any], newest_ms: int) -> Any:
    return _far_ahead(options["events"], newest_ms)


@dataclass(frozen=True)
class Workload:
    """Events, in batches of columns.

    `events` is called with every option resolved, the seed, and a producer from 0 to producers - 1.
    It yields Arrow tables in the order of sending, with the columns `id`, `producer`, `key`, `seq`,
    `event_ms`, `amount` and `kind`: `event`, or `redelivery` for one that is sent a second time.
    Ids are unique over all producers and below `events`; `seq` grows within a key of a producer.
    A table with a `value` (binary) has records that are sent as they are: see `as_is.table`.

    `pinned` returns the options as the plan has them, files named from the scenario's folder.
    `sentinel` returns the table of the one event that is sent last, None where there is none.
    """

    name: str
    options: Mapping[str, Option]
    events: Callable[[Mapping[str, Any], int, int], Iterator[Any]]
    pinned: Callable[[Mapping[str, Any], str], Mapping[str, Any]] = _as_given
    sentinel: Callable[[Mapping[str, Any], int], Any] = _ours

    @property
    def needs(self) -> tuple[str, ...]:
        """The options that have no default."""
        return tuple(name for name, one in self.options.items() if one.default is None)

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every option with its value, or raise `RequestError` for what is bad."""
        where = f"workload {self.name}"
        found = resolve(where, {**SENDING, **self.options}, given)
        if found["events"] and found["producers"] > found["events"]:
            raise RequestError(
                f"{where}: producers is {found['producers']}, and there are only"
                f" {found['events']} events to share: write fewer producers"
            )
        if found["delivery_s"] and found["client"] != CONFLUENT:
            raise RequestError(
                f"{where}: delivery_s is {found['delivery_s']:g}, and {found['client']} answers"
                f" nobody after a time-out: write client: {CONFLUENT}, or leave it out"
            )
        return found


WORKLOADS: tuple[Workload, ...] = (
    Workload("page_views", page_views.OPTIONS, page_views.events),
    Workload("records", records.OPTIONS, records.events, records.pinned, as_is.sentinel),
    Workload("template", template.OPTIONS, template.events, template.pinned, as_is.sentinel),
)


def find_workload(name: str) -> Workload:
    """Return a workload by its name, or the one that a `module:attribute` names.

    An attribute that is a function of a seed yields the records themselves.
    """
    known = {workload.name: workload for workload in WORKLOADS}
    if name in known:
        return known[name]
    write = f"{', '.join(known)}, or module:attribute with the module on PYTHONPATH"
    found = find_attribute(name, f"workload {name!r}", write)
    if isinstance(found, Workload):
        return found
    if not callable(found) or isinstance(found, type):
        what = type(found).__name__
        raise RequestError(f"{name} is a {what}, and must be a Workload, or a function of a seed")
    return Workload(name, as_is.OPTIONS, as_is.from_function(found), sentinel=as_is.sentinel)
