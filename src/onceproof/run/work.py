"""The plan of a run as those carry it out who send, start, disturb, read and recompute.

All of it stands in `plan.json`, so any phase can be repeated, in another process, years later. What
a run is held to is read by `onceproof.run.plan`, for the judge.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as made
from pathlib import Path
from typing import Any

from onceproof.documents import count, field, read_object

EARLIEST, LATEST = "earliest", "latest"
# How a job ends: it has committed all input, or its restart strategy has given up.
OVER, FAILED = "over", "failed"
# Whether attempts and tasks may fail where no planned fault explains it.
REFUSED, ALLOWED = "refused", "allowed"
# The degrees of effect that a fault may be asked for, from the least to the most.
DEMANDS = ("felt", "retried", "restarted")


@dataclass(frozen=True)
class WorkloadPart:
    """Which events are sent, and where."""

    name: str
    topic: str
    partitions: int
    options: Mapping[str, Any]

    @property
    def events(self) -> int:
        """How many events the workload has, without those sent again and without the sentinel."""
        return count(self.options, "events", "the plan's workload")


@dataclass(frozen=True)
class PipelinePart:
    """The job under test: a command, and its reference.

    A reference is a `module:attribute`, or a word for one that is made of `output`: of the `key` of
    what the job writes, the `columns` that are compared, and `from` where in the input the key
    stands. `starting` is where the query begins to read. `runtime` is what it runs on where that is
    not Onceproof's own: `python`, `spark_home`, `jars`, `master` and `env`.
    """

    name: str
    command: tuple[str, ...]
    reference: str
    options: Mapping[str, Any]
    starting: str = EARLIEST
    output: Mapping[str, Any] = made(default_factory=dict)
    runtime: Mapping[str, Any] = made(default_factory=dict)


@dataclass(frozen=True)
class SinkPart:
    """A sink by its name, or by `module:attribute`, and the name of what it writes to.

    `traits` is all that the plan says of it: after planning nobody asks its class again.
    """

    name: str
    target: str
    options: Mapping[str, Any]
    traits: Mapping[str, Any]

    @property
    def store(self) -> str:
        """What keeps its rows: `files`, `kafka`, `postgresql`, or another's own word."""
        return field(self.traits, "store", str, "the plan's sink")


@dataclass(frozen=True)
class FaultPart:
    """One fault: what is done to whom, when and how; its name is unique in the plan."""

    name: str
    verb: str
    target: str
    when: Mapping[str, Any]
    how: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    effect: str = ""  # the least degree of effect that it must have


@dataclass(frozen=True)
class LimitsPart:
    """How long we are ready to wait: for the whole run, and for any progress of the job."""

    run_s: float
    stall_s: float


@dataclass(frozen=True)
class Work:
    """What a run is to do. `run` names it: its topics, tables and processes carry that name.

    `expectations` are the suites of Great Expectations by what they are held against.
    """

    scenario: str
    run: str
    seed: int
    workload: WorkloadPart
    pipeline: PipelinePart
    sink: SinkPart
    faults: tuple[FaultPart, ...]
    restart: Mapping[str, Any]
    limits: LimitsPart
    ends: str
    expectations: Mapping[str, Any]
    source_options: Mapping[str, Any] = made(default_factory=dict)
    reference: Mapping[str, Any] = made(default_factory=dict)  # columns and keys of its rows

    @classmethod
    def read(cls, path: Path) -> Work:
        """Read a plan.json, or raise `EvidenceError` with what is wrong with it."""
        return cls.of(read_object(path))

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> Work:
        """Return the work that a plan's document tells of."""
        workload, pipeline, sink = (
            field(plan, name, dict, "the plan") for name in ("workload", "pipeline", "sink")
        )
        limits = field(plan, "limits", dict, "the plan")
        return cls(
            scenario=field(plan, "scenario", str, "the plan"),
            run=field(plan, "run", str, "the plan"),
            seed=field(plan, "seed", int, "the plan"),
            workload=WorkloadPart(
                field(workload, "name", str, "the plan's workload"),
                field(workload, "topic", str, "the plan's workload"),
                count(workload, "partitions", "the plan's workload"),
                field(workload, "options", dict, "the plan's workload"),
            ),
            pipeline=PipelinePart(
                field(pipeline, "name", str, "the plan's pipeline"),
                tuple(field(pipeline, "command", list, "the plan's pipeline")),
                field(pipeline, "reference", str, "the plan's pipeline"),
                field(pipeline, "options", dict, "the plan's pipeline"),
                pipeline.get("starting", EARLIEST),
                pipeline.get("output", {}),
                pipeline.get("runtime", {}),
            ),
            sink=SinkPart(
                field(sink, "name", str, "the plan's sink"),
                field(sink, "target", str, "the plan's sink"),
                field(sink, "options", dict, "the plan's sink"),
                sink,
            ),
            faults=tuple(_fault(one) for one in field(plan, "faults", list, "the plan")),
            restart=field(plan, "restart", dict, "the plan"),
            limits=LimitsPart(
                float(count(limits, "run_s", "the plan's limits")),
                float(count(limits, "stall_s", "the plan's limits")),
            ),
            ends=str(plan.get("ends", OVER)),
            expectations=field(plan, "expectations", dict, "the plan"),
            source_options=plan.get("source_options", {}),
            reference=plan.get("reference", {}),
        )


def _fault(fault: Mapping[str, Any]) -> FaultPart:
    where = "a planned fault"
    return FaultPart(
        field(fault, "name", str, where),
        field(fault, "verb", str, where),
        field(fault, "target", str, where),
        field(fault, "when", dict, where),
        field({"how": {}, **fault}, "how", dict, where),
        str(fault.get("effect", "")),
    )
