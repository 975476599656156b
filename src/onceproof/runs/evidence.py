"""The evidence of one run, read when a checker asks for it.

Evidence that is missing, unreadable or contradictory raises `EvidenceError` in each checker that
needs it, so no checker can mistake it for an empty result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from onceproof.documents import count, field, read_object
from onceproof.errors import EvidenceError
from onceproof.guarantee import Anomaly
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.ledger import Ledger, Partition
from onceproof.runs.parts import OLDER, part_digest
from onceproof.runs.plan import FaultPart, Plan, RowsPart
from onceproof.runs.reads import Poll, Reads, polls
from onceproof.runs.records import Op, Record

T = TypeVar("T")
_STRIKES = (Op.FAULT_STRIKE, Op.FAULT_HEAL)
ROW_CLASSES = (Anomaly.LOST, Anomaly.DUPLICATED, Anomaly.UNEXPECTED, Anomaly.CHANGED)


@dataclass(frozen=True)
class Differences:
    """The result of the comparison: a count for each class that rows alone show, and samples.

    `columns` has the columns that were taken as key and as values, and those that were ignored.
    """

    counts: Mapping[Anomaly, int]
    expected: int
    observed: int
    late: int | None
    columns: Mapping[str, Any]
    samples: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Evidence:
    """The evidence in the directory of one run; nothing else is consulted.

    That of a flow takes what is the same for all flows from the evidence of the `whole` run.
    """

    run: RunDirectory
    whole: Evidence | None = None

    @cached_property
    def plan(self) -> Plan:
        """The plan; that of the flow if the run's directory is that of one output."""
        whole = self.whole_plan
        return whole.flow(self.run.output_name) if self.run.output_name else whole

    @cached_property
    def whole_plan(self) -> Plan:
        """The plan with all queries and outputs."""
        return self.whole.whole_plan if self.whole else Plan.read(self.run.plan)

    @property
    def own_faults(self) -> tuple[FaultPart, ...]:
        """The planned faults whose moments and proofs are about the query and output seen here."""
        whole, name = self.whole_plan, self.plan.output.name
        return tuple(one for one in whole.faults if whole.struck_by(one).output.name == name)

    @cached_property
    def history(self) -> tuple[Record, ...]:
        """The records in order, without those about other queries and outputs.

        Strikes are about a query too, and disturb all.
        """
        records = self.whole.history if self.whole else History(self.run.history).read()
        return tuple(one for one in records if one.op in _STRIKES or self.is_mine(one))

    def is_mine(self, record: Record) -> bool:
        """Whether a record is about the run as a whole, or about the query and output seen here."""
        if not self.run.output_name:
            return True
        return record.about in ("", self.run.about_query, self.run.about_output)

    def of(self, *ops: Op) -> list[Record]:
        """Return the records of these operations, in order, whatever their outcome."""
        return [record for record in self.history if record.op in ops]

    @cached_property
    def first_planned(self) -> int | None:
        """The `seq` of the first batch that was planned, None if none was."""
        return min((record.seq for record in self.of(Op.BATCH_OFFSETS)), default=None)

    @cached_property
    def last_end(self) -> int:
        """The `seq` of the last recorded end of an attempt, 0 if no end is recorded."""
        return max((record.seq for record in self.of(Op.ATTEMPT_END)), default=0)

    @cached_property
    def recomputed(self) -> dict[str, Any]:
        """The output of the references beside the expected rows."""
        return read_object(self.run.recomputed)

    @cached_property
    def reference(self) -> RowsPart:
        """The traits of the reference in the plan: columns, key and version of the rows."""
        if self.plan.output.rows is None:
            raise EvidenceError(OLDER)
        return self.plan.output.rows

    @cached_property
    def _digests(self) -> dict[tuple[RunDirectory, str], str]:
        return self.whole._digests if self.whole else {}

    def digest(self, part: str) -> str:
        """Return the digest of a part as it is now, of the query and output seen here."""
        return self._digest(self.run, part)

    def digest_of_all(self, part: str) -> str:
        """Return the digest of a part as it is now, of all queries and outputs together."""
        return self._digest(self.run.whole, part)

    def _digest(self, run: RunDirectory, part: str) -> str:
        if (run, part) not in self._digests:
            self._digests[run, part] = part_digest(run, part)
        return self._digests[run, part]

    @cached_property
    def ledger(self) -> Ledger:
        """The input that was sent to the topics seen here."""
        return Ledger.read(self.run.ledger, self.plan.topics if self.run.output_name else ())

    @cached_property
    def polls(self) -> tuple[Poll, ...]:
        """The polls of the reader that succeeded."""
        return polls(self.history)

    @cached_property
    def reads(self) -> Reads:
        """The rows that were visible to the reader, poll by poll."""
        return Reads.load(self.run.reads, self.polls)

    @cached_property
    def differences(self) -> Differences:
        """The differences between expected and observed rows."""
        document = read_object(self.run.summary)
        counts = field(document, "differences", dict, "the summary of differences")
        rows = field(document, "rows", dict, "the summary of differences")
        return Differences(
            _classes(counts),
            count(rows, "expected", "the rows compared"),
            count(rows, "observed", "the rows compared"),
            count(rows, "late", "the rows compared") if "late" in rows else None,
            field(document, "columns", dict, "the summary of differences"),
            _samples(field(document, "samples", list, "the summary of differences")),
        )

    @cached_property
    def positions(self) -> list[tuple[int, dict[Partition, int]]]:
        """The position in the input after each commit: its `seq` and the next offsets.

        A commit takes the newest offsets that were recorded for its batch before it.
        """
        offsets: dict[int | None, dict[Partition, int]] = {}
        found = []
        for record in self.of(Op.BATCH_OFFSETS, Op.BATCH_COMMIT):
            if not record.is_ok:
                continue
            if record.op is Op.BATCH_OFFSETS:
                offsets[record.batch] = by_partition(record.proof["offsets"])
            elif record.batch not in offsets:
                raise EvidenceError(f"batch {record.batch} was committed without recorded offsets")
            else:
                found.append((record.seq, offsets[record.batch]))
        return found


def _classes(counts: Mapping[str, Any]) -> dict[Anomaly, int]:
    if strange := counts.keys() - set(Anomaly):
        raise EvidenceError(f"the differences have unknown classes: {sorted(strange)}")
    names = [name for name in Anomaly if name in counts or name in ROW_CLASSES]
    return {name: count(counts, name, "the differences") for name in names}


def _samples(found: list[Any]) -> tuple[Mapping[str, Any], ...]:
    if strange := [sample for sample in found if not isinstance(sample, dict)]:
        raise EvidenceError(f"the samples contain {strange[0]!r}, which is not a JSON object")
    return tuple(found)


def by_partition(topics: Mapping[str, Mapping[str, int]]) -> dict[Partition, int]:
    """Return the offsets of records ({topic: {"0": 17}}) by topic and partition."""
    return {
        (topic, int(partition)): count(offsets, partition, f"the offsets of {topic}")
        for topic, offsets in topics.items()
        for partition in offsets
    }


def acknowledged(proof: Mapping[str, Any], inputs: Collection[str]) -> int:
    """Return the acknowledged records by the proof of an `input.progress`, of some inputs.

    In a run with one input the proof has only the total.
    """
    by_input = proof.get("by_input")
    if by_input is None:
        return int(proof["acknowledged"])
    return sum(by_input.get(name, 0) for name in inputs)


def or_none(read: Callable[[], T]) -> T | None:
    """Call `read`; return None on `EvidenceError`. For display only, never in a checker."""
    try:
        return read()
    except EvidenceError:
        return None
