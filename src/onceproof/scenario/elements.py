"""What a scenario may name beside workloads: pipelines of ours, sinks, and what faults strike."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError
from onceproof.faults import mechanisms
from onceproof.guarantee import Guarantee
from onceproof.plan import Writes
from onceproof.references import find_reference

PIPELINES = {
    name: f"onceproof.references.{name}:REFERENCE"
    for name in ("app_views", "copy_events", "sliding_counts")
}

VERSIONS = {"app_views": "views", "copy_events": None, "sliding_counts": None}
WORKLOADS: Mapping[str, Mapping[str, Any]] = {
    "page_views": {
        "events": 20_000,
        "producers": 1,
        "rate": 0,
        "client": "kafka-python",
        "keys": 100,
        "skew": 1.0,
        "span_ms": 60_000,
        "jitter_ms": 500,
        "late": 0.0,
        "late_by_ms": 20_000,
        "redelivered": 0.0,
    }
}


def find_version(pipeline: str, reference: str) -> str | None:
    """Return the column of a pipeline's output that only grows within a key, if there is one."""
    return VERSIONS[pipeline] if pipeline in VERSIONS else find_reference(reference).version


def resolve_workload(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option with its value, or raise `RequestError` for the first that is bad."""
    known = WORKLOADS[name]
    for option in given.keys() - known.keys():
        raise RequestError(f"there is no option {option!r}: it has {', '.join(known)}")
    return {**known, **given}


@dataclass(frozen=True)
class Traits:
    """What a sink declares, as its class tells."""

    family: str
    store: str
    guarantee: Guarantee
    atomic_batches: bool
    ordered: bool
    writes: Writes


SINKS = {
    "append_table": Traits(
        "append", "postgres", Guarantee.AT_LEAST_ONCE, False, False, Writes.APPEND
    ),
    "upsert_table": Traits(
        "idempotent", "postgres", Guarantee.EXACTLY_ONCE, False, False, Writes.UPSERT
    ),
}


def find_traits(name: str) -> Traits:
    """Return what the sink declares that a name of ours, or a `module:attribute`, names."""
    if name in SINKS:
        return SINKS[name]
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
        return Traits(**{one: getattr(found, one) for one in Traits.__dataclass_fields__})
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError(
            f"{name!r} cannot be had as a sink ({error}): write module:attribute, with the module"
            " on PYTHONPATH and the traits that onceproof.sinks.Sink lists"
        ) from None


# Whom a fault may strike, as words for people. The stack takes more; these hold on any stack.
TARGETS: Mapping[str, str] = {
    "driver": "the driver",
    "executor": "the executor that waits at the failpoint, else any",
    "executor:any": "one executor",
    "executor:all": "every executor",
    "broker:any": "one broker",
    "broker:controller": "the broker that is controller",
    "broker:leader=<partition>": "the broker that leads partition {number} of the input",
    "worker:any": "one worker",
    "master": "the master",
    "store": "the store",
    "store:postmaster": "the store's first process",
}


def verbs() -> tuple[str, ...]:
    """Return every verb that some mechanism does."""
    return tuple(dict.fromkeys(verb for one in mechanisms() for verb in one.verbs))


def find_target(text: Any) -> tuple[str, int | None] | None:
    """Return the pattern in `TARGETS` that a text fits, and its number; None if there is none."""
    for pattern in TARGETS:
        head, sign, _ = pattern.partition("<")
        found = re.fullmatch(re.escape(head) + (r"(\d{1,9})" if sign else ""), str(text))
        if found:
            return pattern, int(found[1]) if sign else None
    return None


def say_target(text: str) -> str:
    """Return a target as words."""
    pattern, number = find_target(text) or (text, None)
    return TARGETS.get(pattern, text).format(number=number)
