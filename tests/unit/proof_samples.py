"""Proofs of real runs, one of each mechanism, kept beside the tests.

`python -m tests.unit.proof_samples FOLDER` adds those of the runs below a folder.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from onceproof.faults.checks import Case
from onceproof.faults.registry import find_mechanism
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence, by_partition
from onceproof.runs.plan import FaultPart, Plan
from onceproof.runs.records import Op, Outcome, Record
from tests.plans import input_of, output_of, plan_document

FILE = Path(__file__).with_name("proof_samples.jsonl")
_BATCHES = (Op.BATCH_OFFSETS, Op.BATCH_COMMIT)


def samples() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text().splitlines()]


def name_of(sample: dict[str, Any]) -> str:
    return f"{sample['fault']['verb']}-{sample['fault']['target']}"


def case_of(sample: dict[str, Any], marks: Path) -> Case:
    """Return a sample as the judge's checks see it; the failpoint's mark is in a folder."""
    history = [record_of(one) for one in sample["history"]]
    fault = FaultPart(**sample["fault"])
    (marks / f"{fault.name}.reached").write_text(json.dumps(sample["mark"]))
    plan = Plan.of(plan_document(**sample["plan"], faults=[sample["fault"]]))
    strike, *heals = (one for one in history if one.op in (Op.FAULT_STRIKE, Op.FAULT_HEAL))
    offsets = {one.batch: one.proof["offsets"] for one in history if one.op is Op.BATCH_OFFSETS}
    evidence: Any = SimpleNamespace(
        plan=plan,
        run=SimpleNamespace(failpoints=marks),
        is_mine=lambda _: True,
        of=lambda *ops: [one for one in history if one.op in ops],
        positions=[
            (one.seq, by_partition(offsets[one.batch]))
            for one in history
            if one.op is Op.BATCH_COMMIT and one.batch in offsets
        ],
    )
    return Case(fault, strike, heals[0] if heals else None, evidence)


def record_of(fields: dict[str, Any]) -> Record:
    words = {"op": Op(fields["op"]), "outcome": Outcome(fields["outcome"])}
    return Record(**{**fields, **words, "mono": 0, "wall": 0})


def samples_of(run: Path) -> list[dict[str, Any]]:
    """Return each landed fault of a run with the records that its proof is compared with."""
    evidence = Evidence(RunDirectory(run))
    planned: Plan = evidence.plan
    found = []
    for fault in planned.faults:
        own = [one for one in evidence.history if one.actor == fault.name and one.is_ok]
        if not own:
            continue
        before = [one for one in evidence.history if one.seq < own[0].seq]
        kept = [one for one in before if one.op in (*_BATCHES, Op.INPUT_PROGRESS)]
        kept += evidence.of(Op.ATTEMPT_START, Op.ATTEMPT_END)
        history = [one for one in evidence.history if one in kept or one in own]
        document = planned.document
        parts = {"input": input_of(document), "output": output_of(document)}
        path = evidence.run.failpoints / f"{fault.name}.reached"
        mark = json.loads(path.read_text()) if path.exists() else None
        sample = {"fault": vars(fault), "plan": {"run": planned.run, **parts}, "mark": mark}
        found.append(sample | {"history": [*map(_told, history)]})
    return found


def _told(record: Record) -> dict[str, Any]:
    fields = {name: value for name, value in vars(record).items() if name not in ("mono", "wall")}
    return {name: value for name, value in fields.items() if value not in (None, {})}


if __name__ == "__main__":
    known = {name_of(one): one for one in (samples() if FILE.exists() else [])}
    for history in sorted(Path(sys.argv[1]).rglob("history.jsonl")):
        if (history.parent / "verdict.json").exists():
            for one in samples_of(history.parent):
                find_mechanism(one["fault"]["verb"], one["fault"]["target"])
                known.setdefault(name_of(one), one)
    FILE.write_text("".join(json.dumps(known[name]) + "\n" for name in sorted(known)))
