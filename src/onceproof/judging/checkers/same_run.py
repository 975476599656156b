"""All parts of the evidence are of one run, and as its phases left them."""

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
    """Say UNKNOWN where a part is not the one that a phase recorded, or is of another run.

    Each phase recorded the digests of what it read and wrote. Documents that tell from which rows
    they were made are held against those too, and the ledger against the plan's number of events.
    """
    ends = _ends(evidence)
    said = [
        *([] if ends else ["No phase recorded the digests of its parts"]),
        *_of_other_runs(evidence, ends),
        *_altered(evidence, ends),
        *_documents(evidence, ends),
        *_not_as_planned(evidence, ends),
        *_ran_on_others(evidence),
    ]
    if said:
        return Finding("same_run", Grade.UNKNOWN, "; ".join(said))
    numbers = {"phases": len(ends), "parts": len({part for name in ends for part in USED[name]})}
    reason = f"All parts are of the run {evidence.plan.run}, as its phases left them"
    return Finding("same_run", Grade.PASS, reason, numbers)


def _ends(evidence: Evidence) -> dict[str, Record]:
    """Return how each phase that uses parts ended last, where it ended well."""
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
            yield f"{name} was a phase of the run {run}, and the plan is of {evidence.plan.run}"


def _altered(evidence: Evidence, ends: Mapping[str, Record]) -> Iterator[str]:
    by: dict[str, list[str]] = defaultdict(list)
    for name, record in ends.items():
        told = field(record.proof, "digests", dict, f"the end of {name}")
        for part in USED[name]:
            if told.get(part) != evidence.digest(part):
                by[part].append(name)
    for part, names in by.items():
        yield (
            f"The part {part!r} is not the one that {', '.join(names)} recorded: it was changed"
            " afterwards, or is of another run"
        )


def _documents(evidence: Evidence, ends: Mapping[str, Record]) -> Iterator[str]:
    """Yield what is wrong with the documents that say from which rows they were made."""
    run = evidence.run
    made = {
        "recompute": ("recomputed", run.recomputed),
        "compare": ("differences", run.summary),
        "validate": ("validation", run.validation),
    }
    for phase in (phase for phase in made if phase in ends):
        yield from _made_of_others(evidence, *made[phase])
    if "recompute" in ends:
        ledger, told = evidence.ledger, evidence.recomputed
        counted = [count(told, name, run.recomputed.name) for name in ("covered", "uncovered")]
        if sum(counted) != ledger.acknowledged:
            yield (
                f"recomputed.json counts {sum(counted):,} acknowledged records, and the ledger has"
                f" {ledger.acknowledged:,}"
            )


def _made_of_others(evidence: Evidence, part: str, path: Path) -> Iterator[str]:
    document: Mapping[str, Any] = read_object(path)
    if (run := document.get("run")) != evidence.plan.run:
        yield f"{path.name} is of the run {run}, and the plan of {evidence.plan.run}"
    told = field(document, "digests", dict, path.name)
    for one in MADE_OF[part]:
        if told.get(one) != evidence.digest(one):
            yield f"{path.name} was made of another {one!r} than is there: repeat that phase"


def _not_as_planned(evidence: Evidence, ends: Mapping[str, Record]) -> Iterator[str]:
    if "produce" not in ends:
        return
    if (planned := evidence.plan.input.events) != evidence.ledger.events:
        yield (
            f"The plan has {planned:,} events, and the ledger {evidence.ledger.events:,}: it is not"
            " the ledger of this plan"
        )


def _ran_on_others(evidence: Evidence) -> Iterator[str]:
    """Yield which records of what an attempt ran on do not name the file that is there."""
    told = {f"{one.attempt}.json": one for one in evidence.of(Op.ATTEMPT_RAN_ON)}
    kept = {path.name: path for path in evidence.run.ran_on.glob("*.json")}
    for name in sorted(told.keys() | kept.keys()):
        if name not in told or name not in kept:
            where = "ran-on/" if name in told else "the history"
            yield f"{where} does not tell what attempt {name.removesuffix('.json')} ran on"
        elif file_digest(kept[name]) != told[name].proof["sha256"]:
            yield f"ran-on/{name} is not the file that the history names: it was changed"
