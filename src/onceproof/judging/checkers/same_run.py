"""All parts of the evidence are of one run and unchanged since its phases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onceproof.digests import file_digest
from onceproof.documents import count, field, read_object
from onceproof.errors import EvidenceError
from onceproof.runs.evidence import Evidence
from onceproof.runs.parts import MADE_OF, OLDER, USED
from onceproof.runs.records import Op, Record
from onceproof.verdict import Finding, Grade


def same_run(evidence: Evidence) -> Finding:
    """Return UNKNOWN if a part is not the one that a phase recorded, or is of another run.

    Each phase records the digests of its input and output. Documents with the digests of the rows
    they were made from are checked against those, and the ledger against the plan's event count.
    """
    ends = _ends(evidence)
    problems = [
        *([] if ends else ["No phase recorded the digests of its parts"]),
        *_of_other_runs(evidence, ends),
        *_altered(evidence, ends),
        *_documents(evidence, ends),
        *_not_as_planned(evidence, ends),
        *_ran_on_others(evidence),
    ]
    if problems:
        return Finding("same_run", Grade.UNKNOWN, "; ".join(problems))
    numbers = {"phases": len(ends), "parts": len({part for name in ends for part in USED[name]})}
    reason = f"All parts are of the run {evidence.plan.run} and unchanged since its phases"
    return Finding("same_run", Grade.PASS, reason, numbers)


def _ends(evidence: Evidence) -> dict[str, Record]:
    """Return the last end of each phase that uses parts, if it succeeded."""
    last = {record.actor: record for record in evidence.of(Op.PHASE_START, Op.PHASE_END)}
    ended = {
        name: record
        for name, record in last.items()
        if name in USED and record.op is Op.PHASE_END and record.is_ok
    }
    if any("digests" not in record.proof for record in ended.values()):
        raise EvidenceError(OLDER)
    return ended


def _of_other_runs(evidence: Evidence, ends: Mapping[str, Record]) -> Iterator[str]:
    for name, record in ends.items():
        if (run := record.proof.get("run")) != evidence.plan.run:
            yield f"{name} was a phase of the run {run}, but the plan is of {evidence.plan.run}"


def _altered(evidence: Evidence, ends: Mapping[str, Record]) -> Iterator[str]:
    by: dict[str, list[str]] = defaultdict(list)
    for name, record in ends.items():
        digests = field(record.proof, "digests", dict, f"the end of {name}")
        for part in USED[name]:
            if digests.get(part) != evidence.digest_of_all(part):
                by[part].append(name)
    for part, names in by.items():
        yield (
            f"The part {part!r} is not the one recorded by {', '.join(names)}: it was changed"
            " afterwards, or is of another run"
        )


def _documents(evidence: Evidence, ends: Mapping[str, Record]) -> Iterator[str]:
    run = evidence.run
    made = {
        "recompute": ("recomputed", run.recomputed),
        "compare": ("differences", run.summary),
        "validate": ("validation", run.validation),
    }
    for phase in (phase for phase in made if phase in ends):
        yield from _made_of_others(evidence, *made[phase])
    if "recompute" in ends:
        ledger, recomputed = evidence.ledger, evidence.recomputed
        counted = [
            count(recomputed, name, run.recomputed.name) for name in ("covered", "uncovered")
        ]
        if sum(counted) != ledger.acknowledged:
            yield (
                f"recomputed.json counts {sum(counted):,} acknowledged records, but the ledger has"
                f" {ledger.acknowledged:,}"
            )


def _made_of_others(evidence: Evidence, part: str, path: Path) -> Iterator[str]:
    document: Mapping[str, Any] = read_object(path)
    if (run := document.get("run")) != evidence.plan.run:
        yield f"{path.name} is of the run {run}, but the plan is of {evidence.plan.run}"
    digests = field(document, "digests", dict, path.name)
    for one in MADE_OF[part]:
        if digests.get(one) != evidence.digest(one):
            yield f"{path.name} was made from another {one!r} than is in the run; repeat that phase"


def _not_as_planned(evidence: Evidence, ends: Mapping[str, Record]) -> Iterator[str]:
    if "produce" not in ends:
        return
    if (planned := evidence.plan.events) != evidence.ledger.events:
        yield (
            f"The plan has {planned:,} events, but the ledger has {evidence.ledger.events:,}: it is"
            " not the ledger of this plan"
        )


def _ran_on_others(evidence: Evidence) -> Iterator[str]:
    recorded = {f"{one.attempt}.json": one for one in evidence.of(Op.ATTEMPT_RAN_ON)}
    kept = {path.name: path for path in evidence.run.ran_on.glob("*.json")}
    for name in sorted(recorded.keys() | kept.keys()):
        if name not in recorded or name not in kept:
            where = "ran-on/" if name in recorded else "The history"
            yield f"{where} lacks what attempt {name.removesuffix('.json')} ran on"
        elif file_digest(kept[name]) != recorded[name].proof["sha256"]:
            yield f"ran-on/{name} is not the file recorded in the history: it was changed"
