"""A scenario is pipeline, workload, sink and faults, as data; it claims the verdict it must get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof import sinks
from onceproof.run.work import FaultPart, LimitsPart, PipelinePart
from onceproof.verdict import Claim

FOLDER = "scenarios"  # the catalogue, by the name that people know it by
IN_FILE = "::"


@dataclass(frozen=True)
class Workload:
    """Which events are sent; every option is there."""

    name: str
    partitions: int
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Sink:
    """A sink by its name, or by `module:attribute`; its class tells what it declares."""

    name: str
    options: Mapping[str, Any]
    kind: type[sinks.Sink]


@dataclass(frozen=True)
class Scenario:
    """One scenario, checked, every default filled in.

    `file` is where it stands, by the name that people know it by; `folder` is the folder of that.
    `is_ours` says that its pipeline is one of the catalogue's. The pipeline's options hold
    `state_store`, `max_offsets`, `trigger` and `source`, where its command takes them;
    `source_options` are those of Spark's Kafka source, for a pipeline of ours. Where its faults
    were `drawn` from the seed, so many, `origin` finds the scenario they were drawn for.
    """

    file: str
    name: str
    tags: tuple[str, ...]
    is_ours: bool
    pipeline: PipelinePart
    workload: Workload
    source_options: Mapping[str, Any]
    sink: Sink
    faults: tuple[FaultPart, ...]
    restart: Mapping[str, Any]
    limits: LimitsPart
    ends: str
    last_words: str
    unexplained: str
    claim: Claim
    in_catalogue: bool = False
    folder: str = "."
    drawn: int = 0
    origin: str = ""

    @property
    def address(self) -> str:
        """What finds this scenario again: its name, or file and name where it is not ours."""
        if self.origin:
            return self.origin
        return self.name if self.in_catalogue else f"{self.file}{IN_FILE}{self.name}"
