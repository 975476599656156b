"""The input topics are, at the end, still those of the start, with nothing of them expired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.documents import count, field
from onceproof.errors import EvidenceError
from onceproof.evidence import Evidence
from onceproof.ledger import Ledger
from onceproof.records import Op
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
        *_renewed(first, last),
        *_shortened(evidence.ledger, last),
    ]
    if said:
        return Finding("input_kept", Grade.UNKNOWN, "; ".join(said))
    names = ", ".join(sorted(last))
    return Finding("input_kept", Grade.PASS, f"The input is whole from its first record: {names}")


def _renewed(first: Mapping[str, Any], last: Mapping[str, Any]) -> list[str]:
    return [
        f"Topic {name} is not the one of the start: it was made anew during the run"
        for name in sorted(first.keys() | last.keys())
        if field(first.get(name, {}), "id", str, f"topic {name} at the start")
        != field(last.get(name, {}), "id", str, f"topic {name} at the end")
    ]


def _shortened(ledger: Ledger, last: Mapping[str, Any]) -> list[str]:
    said = []
    for (topic, partition), offsets in ledger.offsets.items():
        where = f"{topic}-{partition}"
        partitions = field(last.get(topic, {}), "partitions", dict, f"topic {topic} at the end")
        bounds = field(partitions, str(partition), dict, f"{topic} at the end")
        if start := count(bounds, "start", where):
            said.append(f"{where} begins at {start:,}: the input before it has expired")
        if (end := count(bounds, "end", where)) <= offsets[-1]:
            said.append(f"{where} ends at {end:,}, before the ledger's {offsets[-1]:,}")
    return said
