"""What a scenario may name beside pipelines and sinks: workloads, and what faults strike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from onceproof.errors import RequestError
from onceproof.faults import mechanisms

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


def resolve_workload(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option with its value, or raise `RequestError` for the first that is bad."""
    known = WORKLOADS[name]
    for option in given.keys() - known.keys():
        raise RequestError(f"there is no option {option!r}: it has {', '.join(known)}")
    return {**known, **given}


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
