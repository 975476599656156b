"""The input topics are the same at the end as at the start, and none of their records expired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.documents import count, field
from onceproof.errors import EvidenceError
from onceproof.judging.checkers.faults_landed import landed
from onceproof.runs.evidence import Evidence
from onceproof.runs.ledger import Ledger, Partition
from onceproof.runs.records import Op
from onceproof.verdict import Finding, Grade


def input_kept(evidence: Evidence) -> Finding:
    """Return UNKNOWN if a topic was recreated, lost its beginning, or ends before the ledger does.

    Spark does not notice a recreated topic that has grown past the old offsets.
    """
    looks = [record for record in evidence.of(Op.INPUT_TOPICS) if record.is_ok]
    if len(looks) < 2:
        raise EvidenceError("the history lacks the input topics at the start or at the end")
    expired = _expired(evidence)
    first, last = looks[0].proof["topics"], looks[-1].proof["topics"]
    problems = [
        *(
            ["The input topics were last described before the last attempt ended"]
            if looks[-1].seq < evidence.last_end
            else []
        ),
        *_begun_late(first),
        *_renewed(first, last),
        *_shortened(evidence.ledger, last, expired),
    ]
    if problems:
        return Finding("input_kept", Grade.UNKNOWN, "; ".join(problems))
    names = ", ".join(sorted(last))
    reason = f"All input is in its topics from the first record: {names}"
    if expired:
        reason = f"Input expired only as planned, and the ledger has all of it: {names}"
    return Finding("input_kept", Grade.PASS, reason)


def _renewed(first: Mapping[str, Any], last: Mapping[str, Any]) -> list[str]:
    return [
        f"Topic {name} was recreated during the run"
        for name in sorted(first.keys() | last.keys())
        if field(first.get(name, {}), "id", str, f"topic {name} at the start")
        != field(last.get(name, {}), "id", str, f"topic {name} at the end")
    ]


def _begun_late(first: Mapping[str, Any]) -> list[str]:
    # A partition that does not begin at offset 0 is of a topic that this run did not create.
    problems = []
    for name, topic in sorted(first.items()):
        partitions = field(topic, "partitions", dict, f"topic {name} at the start")
        for number in partitions:
            bounds = field(partitions, number, dict, f"{name} at the start")
            starts, _ = (count(bounds, end, f"{name}-{number}") for end in ("start", "end"))
            if starts:
                problems.append(f"{name}-{number} began at offset {starts:,}, not at 0")
    return problems


def _expired(evidence: Evidence) -> dict[Partition, int]:
    """Return the offset up to which faults expired each partition; the ledger still has its input.

    A fault strikes the first input of its query.
    """
    found: dict[Partition, int] = {}
    plan = evidence.whole_plan
    topics = {one.name: plan.struck_by(one).input.topic for one in plan.faults}
    for name, record in landed(evidence).items():
        topic = topics.get(name, plan.input.topic)
        for partition, begin in record.proof.get("begins", {}).items():
            at = (topic, int(partition))
            found[at] = max(found.get(at, 0), begin)
    return found


def _shortened(
    ledger: Ledger, last: Mapping[str, Any], expired: Mapping[Partition, int]
) -> list[str]:
    problems = []
    for (topic, partition), offsets in ledger.offsets.items():
        where = f"{topic}-{partition}"
        partitions = field(last.get(topic, {}), "partitions", dict, f"topic {topic} at the end")
        bounds = field(partitions, str(partition), dict, f"{topic} at the end")
        if (start := count(bounds, "start", where)) > expired.get((topic, partition), 0):
            problems.append(f"{where} begins at offset {start:,}: its earlier records have expired")
        if (end := count(bounds, "end", where)) <= offsets[-1]:
            problems.append(f"{where} ends at offset {end:,}, before the ledger's {offsets[-1]:,}")
    return problems
