"""The plan of a run as the judge needs it: what was to be done, and what the run is held to.

`plan.json` holds more than this (all that a replay needs); here stands what must be in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from onceproof.documents import field, read_object
from onceproof.errors import EvidenceError, RequestError
from onceproof.guarantee import Anomaly, Guarantee, Promise
from onceproof.run.work import ALLOWED, DEMANDS, FAILED, OVER, REFUSED
from onceproof.verdict import Claim, Grade

E = TypeVar("E", bound=StrEnum)


class Writes(StrEnum):
    """How a sink's rows come to be: each one added for good, or the newest of its key in place."""

    APPEND = "append"
    UPSERT = "upsert"


@dataclass(frozen=True)
class PlannedFault:
    """One fault that must strike; its name is the actor of its records in the history."""

    name: str
    target: str
    trigger: str
    verb: str
    when: Mapping[str, Any]
    how: Mapping[str, Any]
    effect: str = ""  # the least degree of effect that it must have


@dataclass(frozen=True)
class Plan:
    """What a run was to do. `document` is all of plan.json, for what is shown and not judged.

    `versioned` says that the sink's rows carry a number that only grows within a key, and
    `fails_for_good` that the restart strategy must give up, on a job with these `last_words`.
    `unexplained_allowed` says that the job may fail where no planned fault explains it.
    """

    scenario: str
    run: str
    seed: int
    claim: Claim
    writes: Writes
    versioned: bool
    faults: tuple[PlannedFault, ...]
    fails_for_good: bool
    last_words: str
    unexplained_allowed: bool
    document: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read and check a plan.json, or raise `EvidenceError` with what is wrong with it."""
        document = read_object(path)
        sink = field(document, "sink", dict, "the plan")
        try:
            claim = Claim(
                Promise(
                    _one_of(Guarantee, field(document, "hold_to", str, "the plan")),
                    field(sink, "atomic_batches", bool, "the plan's sink"),
                    field(sink, "ordered", bool, "the plan's sink"),
                ),
                _one_of(Grade, field(document, "claims", str, "the plan")),
                frozenset(
                    _one_of(Anomaly, name)
                    for name in field(document, "anomalies", list, "the plan")
                ),
            )
        except RequestError as error:
            raise EvidenceError(f"the plan cannot be met: {error}") from None
        return cls(
            scenario=field(document, "scenario", str, "the plan"),
            run=field(document, "run", str, "the plan"),
            seed=field(document, "seed", int, "the plan"),
            claim=claim,
            writes=_one_of(Writes, field(sink, "writes", str, "the plan's sink")),
            versioned=field(sink, "versioned", bool, "the plan's sink"),
            faults=_faults(document),
            fails_for_good=document.get("ends", OVER) == FAILED,
            last_words=str(document.get("last_words", "")),
            unexplained_allowed=document.get("unexplained", REFUSED) == ALLOWED,
            document=document,
        )


def calm_plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of the calm run: another name, and no fault."""
    name = f"{plan['run']}_c"
    sink, workload = plan["sink"], plan["workload"]
    target = str(sink["target"]).replace(plan["run"], name)
    return {
        **plan,
        "run": name,
        "faults": [],
        "ends": OVER,
        "workload": {**workload, "topic": workload["topic"].replace(plan["run"], name)},
        "sink": {**sink, "target": target},
    }


def _faults(document: Mapping[str, Any]) -> tuple[PlannedFault, ...]:
    faults = tuple(_fault(one) for one in field(document, "faults", list, "the plan"))
    if len({fault.name for fault in faults}) < len(faults):
        raise EvidenceError("the plan has two faults of one name: give each its own")
    return faults


def _fault(fault: Mapping[str, Any]) -> PlannedFault:
    name, target, trigger, verb = (
        field(fault, one, str, "a planned fault") for one in ("name", "target", "trigger", "verb")
    )
    when, how = (field(fault, one, dict, "a planned fault") for one in ("when", "how"))
    return PlannedFault(name, target, trigger, verb, when, how, _demanded(fault))


def _demanded(fault: Mapping[str, Any]) -> str:
    found = fault.get("effect", "")
    if found not in ("", *DEMANDS):
        raise EvidenceError(
            f"a planned fault demands the effect {found!r}: it must be one of {', '.join(DEMANDS)}"
        )
    return str(found)


def _one_of(kind: type[E], value: Any) -> E:
    try:
        return kind(value)
    except ValueError:
        words = ", ".join(kind)
        raise EvidenceError(f"the plan says {value!r}, which is none of: {words}") from None
