"""The input topics are, at the end, still those of the start, with nothing of them expired."""

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
    """Say UNKNOWN if a topic was made anew, lost its beginning, or ends before the ledger does.

    Spark would not notice a topic made anew that has grown past the old offsets.
    """
    looks = [record for record in evidence.of(Op.INPUT_TOPICS) if record.is_ok]
    if len(looks) < 2:
        raise EvidenceError("the input topics were not looked at both at the start and at the end")
    first, last = looks[0].proof["topics"], looks[-1].proof["topics"]
    said = [
        *(
            ["The input topics were last looked at before the last attempt had ended"]
            if looks[-1].seq < evidence.last_end
            else []
        ),
        *_begun_late(first),
        *_renewed(first, last),
        *_shortened(evidence.ledger, last, _planned(evidence)),
    ]
    if said:
        return Finding("input_kept", Grade.UNKNOWN, "; ".join(said))
    names = ", ".join(sorted(last))
    reason = f"The input is whole from its first record: {names}"
    if _planned(evidence):
        reason = f"Of the input nothing has expired but by plan, and the ledger has it: {names}"
    return Finding("input_kept", Grade.PASS, reason)


def _renewed(first: Mapping[str, Any], last: Mapping[str, Any]) -> list[str]:
    return [
        f"Topic {name} is not the one of the start: it was made anew during the run"
        for name in sorted(first.keys() | last.keys())
        if field(first.get(name, {}), "id", str, f"topic {name} at the start")
        != field(last.get(name, {}), "id", str, f"topic {name} at the end")
    ]


def _begun_late(first: Mapping[str, Any]) -> list[str]:
    """Say which partitions did not begin at offset 0 at the start: the topic was not this run's."""
    said = []
    for name, topic in sorted(first.items()):
        partitions = field(topic, "partitions", dict, f"topic {name} at the start")
        for number in partitions:
            bounds = field(partitions, number, dict, f"{name} at the start")
            starts, _ = (count(bounds, end, f"{name}-{number}") for end in ("start", "end"))
            if starts:
                said.append(f"{name}-{number} began at {starts:,} when the run began")
    return said


def _planned(evidence: Evidence) -> dict[Partition, int]:
    """Return up to where each partition expired by plan: what was there the ledger still tells.

    Faults strike the input topic of the plan, and no other.
    """
    found: dict[Partition, int] = {}
    topic = evidence.plan.input.topic
    for record in landed(evidence).values():
        for partition, begin in record.proof.get("begins", {}).items():
            at = (topic, int(partition))
            found[at] = max(found.get(at, 0), begin)
    return found


def _shortened(
    ledger: Ledger, last: Mapping[str, Any], planned: Mapping[Partition, int]
) -> list[str]:
    said = []
    for (topic, partition), offsets in ledger.offsets.items():
        where = f"{topic}-{partition}"
        partitions = field(last.get(topic, {}), "partitions", dict, f"topic {topic} at the end")
        bounds = field(partitions, str(partition), dict, f"{topic} at the end")
        if (start := count(bounds, "start", where)) > planned.get((topic, partition), 0):
            said.append(f"{where} begins at {start:,}: the input before it has expired")
        if (end := count(bounds, "end", where)) <= offsets[-1]:
            said.append(f"{where} ends at {end:,}, before the ledger's {offsets[-1]:,}")
    return said
