"""The plan of a run, as in `plan.json`: everything that it does and is judged by.

The file is long because plan.json has one definition: all its parts are here.

No later phase reads a scenario file, so any phase can be repeated, in another process, years later.
Jobs, inputs, queries and outputs are lists. A flow is the part of the plan that leads to one
output: its query with the inputs of that query. Each flow is judged by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from onceproof.documents import count, decode, encoded, read_object
from onceproof.errors import EvidenceError, RequestError
from onceproof.guarantee import Anomaly, Guarantee, Promise
from onceproof.runs.schema_1 import of_schema_1
from onceproof.verdict import Claim, Grade

SCHEMA = 2
EARLIEST, LATEST = "earliest", "latest"
# How a job ends: all input is committed, or its restart strategy gave up.
OVER, FAILED = "over", "failed"
# How long an attempt lives: until it is stopped, or for a turn, which ends with exit code 0.
UNTIL_STOPPED, IN_TURNS = "until_stopped", "in_turns"
# Whether attempts and tasks may fail where no planned fault explains it.
REFUSED, ALLOWED = "refused", "allowed"
# The effects that a fault may demand, from the least to the most.
DEMANDS = ("felt", "retried", "restarted")


class Writes(StrEnum):
    """How a sink writes rows: append, or replace the row of the same key."""

    APPEND = "append"
    UPSERT = "upsert"


@dataclass(frozen=True)
class JobPart:
    """A command under test, and the options for its placeholders.

    `runtime` has `python`, `spark_home`, `jars`, `master` and `env` where they differ from
    Onceproof's own.
    """

    name: str
    command: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    runtime: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class InputPart:
    """A topic that queries read, and the workload whose events are sent there.

    `seed` is that of the workload; None for the seed of the run.
    """

    name: str
    workload: str
    topic: str
    partitions: int
    options: Mapping[str, Any]
    seed: int | None = None

    @property
    def events(self) -> int:
        """The number of events, without those sent a second time and without the sentinel."""
        return count(self.options, "events", "the plan's input")


@dataclass(frozen=True)
class RowsPart:
    """The traits of the rows that the reference expects.

    `compared_by` identifies a row. The watermark is `delay_ms` behind the newest event, where the
    query has one. `rests_on_log`: the expected rows depend on the offset log.
    """

    columns: Mapping[str, str]
    key: tuple[str, ...]
    version: str | None
    compared_by: tuple[str, ...]
    delay_ms: int | None
    rests_on_log: bool
    keeps_state: bool


@dataclass(frozen=True)
class OutputPart:
    """The output of a query: its sink with the sink's traits, and the reference.

    A reference is a `module:attribute`, or a word for one that is made from the `declared` rows:
    their `key`, the `columns` that are compared, and `from`, the place of the key in the input.
    `versioned`: the rows have a number that only grows within a key. `hold_to`, `claims` and
    `anomalies` are those of the output alone, in a run with several.
    """

    name: str
    sink: str
    target: str
    options: Mapping[str, Any]
    family: str
    store: str
    guarantee: Guarantee
    atomic_batches: bool
    ordered: bool
    versioned: bool
    writes: Writes
    reference: str
    declared: Mapping[str, Any]
    rows: RowsPart | None  # None in plans of older versions
    hold_to: Guarantee | None = None
    claims: Grade | None = None
    anomalies: tuple[Anomaly, ...] = ()


@dataclass(frozen=True)
class QueryPart:
    """A streaming query of a job: the names of its inputs, its first offsets, and its outputs."""

    name: str
    job: str
    inputs: tuple[str, ...]
    outputs: tuple[OutputPart, ...]
    starting: str = EARLIEST
    source_options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FaultPart:
    """A fault: the verb, its target, the moment, and options.

    Its name is unique in the plan, and the actor of its records in the history. `trigger` is `when`
    as a sentence, and `effect` the least effect that it must have. Batches are those of `query`,
    in a run with several queries.
    """

    name: str
    verb: str
    target: str
    when: Mapping[str, Any]
    how: Mapping[str, Any] = field(default_factory=dict)
    trigger: str = ""
    effect: str = ""
    query: str = ""


@dataclass(frozen=True)
class LimitsPart:
    """Limits of time: for the whole run, and for any progress of the job."""

    run_s: int
    stall_s: int


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The fields that a scenario and the plan made from it have in common.

    `file` is the scenario's file, by its name for display.
    """

    file: str
    tags: tuple[str, ...]
    jobs: tuple[JobPart, ...]
    inputs: tuple[InputPart, ...]
    queries: tuple[QueryPart, ...]
    faults: tuple[FaultPart, ...]
    restart: Mapping[str, Any]
    limits: LimitsPart
    ends: str
    last_words: str
    unexplained: str
    lives: str = UNTIL_STOPPED

    @property
    def job(self) -> JobPart:
        """The one job."""
        return self.jobs[0]

    @property
    def events(self) -> int:
        """The number of events of all inputs, as `InputPart.events` counts them."""
        return sum(one.events for one in self.inputs)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the inputs."""
        return tuple(one.topic for one in self.inputs)

    @property
    def input(self) -> InputPart:
        """The first input; faults strike it."""
        return self.inputs[0]

    @property
    def query(self) -> QueryPart:
        """The first query; the only one of a flow."""
        return self.queries[0]

    @property
    def output(self) -> OutputPart:
        """The first output of the first query; the only one of a flow."""
        return self.query.outputs[0]

    @property
    def outputs(self) -> tuple[OutputPart, ...]:
        """The outputs of all queries."""
        return tuple(output for query in self.queries for output in query.outputs)


@dataclass(frozen=True, kw_only=True)
class Plan(Parts):
    """The plan of a run. `run` is its name, which its topics, tables and processes contain.

    `expectations` are the suites of Great Expectations by the rows that they check, `decided_by`
    the digests of the files that determine the expected rows. `night` and `orchestrator` name the
    origin of the run.
    """

    scenario: str
    run: str
    seed: int
    hold_to: Guarantee
    claims: Grade
    anomalies: tuple[Anomaly, ...]
    expectations: Mapping[str, Any]
    decided_by: Mapping[str, str]
    subject: str
    subject_files: Mapping[str, str]
    subject_given: str
    versions: Mapping[str, str]
    replay: str
    night: str = ""
    orchestrator: str = ""
    schema: int = SCHEMA

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read and check a plan.json, or raise `EvidenceError` with what is wrong with it."""
        return cls.of(read_object(path))

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Plan:
        """Return the plan in a document, of this schema or the one before."""
        schema = document.get("schema", 1)
        if schema == 1:
            document = of_schema_1(document)
        elif schema != SCHEMA:
            raise EvidenceError(
                f"unknown schema {schema!r} of the plan; this version reads 1 and {SCHEMA}: judge"
                " the run with the version that made it"
            )
        found = decode(cls, document, "the plan")
        found._check()
        return found

    @cached_property
    def claim(self) -> Claim:
        """The promise that the run is judged by, and the verdict that is claimed."""
        promise = Promise(self.hold_to, self.output.atomic_batches, self.output.ordered)
        return Claim(promise, self.claims, frozenset(self.anomalies))

    def seed_of(self, read: InputPart) -> int:
        """Return the seed of an input's workload."""
        return self.seed if read.seed is None else read.seed

    def flow(self, output: str) -> Plan:
        """Return the part of the plan that leads to this output."""
        for query in self.queries:
            for one in query.outputs:
                if one.name == output:
                    return self._only(query, one)
        raise EvidenceError(f"the plan has no output {output!r}")

    def struck_by(self, fault: FaultPart) -> Plan:
        """Return the flow that a fault is about: the first of its query."""
        named = (one for one in self.queries if one.name == fault.query)
        query = next(named, self.query)
        return self._only(query, query.outputs[0])

    def _only(self, query: QueryPart, output: OutputPart) -> Plan:
        inputs = tuple(one for one in self.inputs if one.name in query.inputs)
        return replace(
            self,
            inputs=inputs,
            queries=(replace(query, outputs=(output,)),),
            hold_to=output.hold_to or self.hold_to,
            claims=output.claims or self.claims,
            anomalies=output.anomalies if output.claims else self.anomalies,
        )

    @property
    def fails_for_good(self) -> bool:
        """Whether the restart strategy must give up."""
        return self.ends == FAILED

    @property
    def unexplained_allowed(self) -> bool:
        """Whether the job may fail where no planned fault explains it."""
        return self.unexplained == ALLOWED

    @property
    def document(self) -> dict[str, Any]:
        """The plan as plan.json has it."""
        found = {"schema": self.schema, **encoded(asdict(self))}
        if self.lives == UNTIL_STOPPED:
            del found["lives"]  # as in the plans of versions without turns
        return found

    def calm(self) -> Plan:
        """Return the plan of the calm run: with another name, without faults."""
        return replace(self.named(f"{self.run}_c"), faults=(), ends=OVER)

    def named(self, run: str) -> Plan:
        """Return the plan under another name; topics and targets with the name change too."""
        inputs = (replace(one, topic=one.topic.replace(self.run, run)) for one in self.inputs)
        return replace(
            self,
            run=run,
            inputs=tuple(inputs),
            queries=tuple(_written_to(one, self.run, run) for one in self.queries),
        )

    def _check(self) -> None:
        if not (
            self.jobs and self.inputs and self.queries and all(q.outputs for q in self.queries)
        ):
            raise EvidenceError("the plan has no job, no input, no query or no output")
        if len({fault.name for fault in self.faults}) < len(self.faults):
            raise EvidenceError("the plan has two faults of one name; rename one")
        for fault in self.faults:
            if fault.effect not in ("", *DEMANDS):
                raise EvidenceError(
                    f"unknown effect {fault.effect!r} of the fault {fault.name}; known are"
                    f" {', '.join(DEMANDS)}"
                )
        if len({one.name for one in self.outputs}) < len(self.outputs):
            raise EvidenceError("the plan has two outputs of one name")
        try:
            for one in self.outputs:
                _ = self.flow(one.name).claim
        except RequestError as error:
            raise EvidenceError(f"the plan contradicts itself: {error}") from None


def seed_for(seed: int, name: str) -> int:
    """Return the seed of one of several inputs, so that each draws other values."""
    return crc32(f"{seed} {name}".encode())


def _written_to(query: QueryPart, old: str, new: str) -> QueryPart:
    outputs = (replace(one, target=one.target.replace(old, new)) for one in query.outputs)
    return replace(query, outputs=tuple(outputs))
