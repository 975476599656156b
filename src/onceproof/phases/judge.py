"""The phase that judges a run from its directory alone, also after other phases failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onceproof.documents import write_whole
from onceproof.errors import RequestError
from onceproof.judging.checkers import run_checkers
from onceproof.judging.document import parts, verdict_document
from onceproof.judging.report import write_reports
from onceproof.judging.whole import WholeVerdict, joined
from onceproof.phases.new_run import seal
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence, or_none
from onceproof.runs.flows import flows_of
from onceproof.runs.plan import Plan
from onceproof.verdict import Verdict


def judge_run(run_directory: Path) -> Verdict:
    """Judge a run and write verdict.json, report.html and junit.xml to its directory.

    May be repeated: an older verdict is removed first, so no verdict outlives its evidence. Raises
    `RequestError` only if the directory does not exist, or has reports but no run.
    """
    if not run_directory.is_dir():
        raise RequestError(f"{run_directory} is not a directory; use the directory of a run")
    run = RunDirectory(run_directory)
    theirs = [old.name for old in (run.report, run.junit) if old.exists()]
    if theirs and not any(own.exists() for own in (run.plan, run.history, run.verdict)):
        raise RequestError(
            f"{run_directory} has a {theirs[0]} but no files of a run; use the directory of a run"
        )
    for old in (run.verdict, run.report, run.junit):
        old.unlink(missing_ok=True)
    verdict, document = _judged(run)
    write_whole(run.verdict, json.dumps(document, indent=2, allow_nan=False) + "\n")
    write_reports(run)
    seal(run)
    return verdict


def _judged(run: RunDirectory) -> tuple[Verdict, dict[str, Any]]:
    """Return the verdict of a run and its document; with several outputs, of each and of all."""
    evidence = Evidence(run)
    plan = or_none(lambda: evidence.plan)
    if plan is None or len(plan.outputs) == 1:
        return _judged_flow(evidence, plan)
    found = {
        flow.name: _judged_flow(Evidence(flow.run, evidence), flow.plan)
        for flow in flows_of(run, plan)
    }
    verdict = WholeVerdict.of({name: one for name, (one, _) in found.items()})
    documents = {name: one for name, (_, one) in found.items()}
    whole = verdict_document(evidence, verdict, next(iter(documents.values())))
    return verdict, joined(evidence, whole, documents)


def _judged_flow(evidence: Evidence, plan: Plan | None) -> tuple[Verdict, dict[str, Any]]:
    findings = run_checkers(evidence)
    document_parts, troubles = parts(evidence)
    verdict = Verdict((*findings, *troubles), plan.claim if plan else None)
    return verdict, verdict_document(evidence, verdict, document_parts)
