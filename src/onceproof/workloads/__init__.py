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
from onceproof.workloads import page_views
from onceproof.workloads.options import Client, Number, Option, Whole, resolve

# What every workload has: how many events, and how they are sent. `rate` is records a second over
# all producers; 0 is as fast as possible.
SENDING: Mapping[str, Option] = {
    "events": Whole(20_000, 0, 1_000_000_000),
    "producers": Whole(1, 1, 64),
    "rate": Number(2000, 10_000_000, 2000),
    "client": Client(),
}


@dataclass(frozen=True)
class Workload:
    """Events, in batches of columns.

    `events` is called with every option resolved, the seed, and a producer from 0 to producers - 1.
    It yields Arrow tables in the order of sending, with the columns `id`, `producer`, `key`, `seq`,
    `event_ms`, `amount` and `kind`: `event`, or `redelivery` for one that is sent a second time.
    Ids are unique over all producers and below `events`; `seq` grows within a key of a producer.
    """

    name: str
    options: Mapping[str, Option]
    events: Callable[[Mapping[str, Any], int, int], Iterator[Any]]

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every option with its value, or raise `RequestError` for what is bad."""
        where = f"workload {self.name}"
        found = resolve(where, {**SENDING, **self.options}, given)
        if found["events"] and found["producers"] > found["events"]:
            raise RequestError(
                f"{where}: producers is {found['producers']}, and there are only"
                f" {found['events']} events to share: write fewer producers"
            )
        return found


WORKLOADS: tuple[Workload, ...] = (Workload("page_views", page_views.OPTIONS, page_views.events),)


def find_workload(name: str) -> Workload:
    """Return a workload by its name, or the one that a `module:attribute` names."""
    known = {workload.name: workload for workload in WORKLOADS}
    if name in known:
        return known[name]
    write = f"{', '.join(known)}, or module:attribute with the module on PYTHONPATH"
    found = find_attribute(name, f"workload {name!r}", write)
    if not isinstance(found, Workload):
        raise RequestError(f"{name} is a {type(found).__name__}, and must be a Workload")
    return found
