"""The phase that decides: from the run's directory alone, always, whatever failed before it."""

from __future__ import annotations

import json
from pathlib import Path

from onceproof.documents import write_whole
from onceproof.errors import RequestError
from onceproof.judging.checkers import run_checkers
from onceproof.judging.document import parts, verdict_document
from onceproof.judging.report import write_reports
from onceproof.phases.new_run import seal
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence, known
from onceproof.verdict import Verdict


def judge_run(run_directory: Path) -> Verdict:
    """Judge a run and write verdict.json, report.html and junit.xml into its directory.

    May be repeated: an older verdict is gone before the new one is begun, so none outlives its
    evidence. Only a directory that is not there is refused, and reports that are no run's.
    """
    if not run_directory.is_dir():
        raise RequestError(f"{run_directory} is no directory: give one that a run has written")
    run = RunDirectory(run_directory)
    theirs = [old.name for old in (run.report, run.junit) if old.exists()]
    if theirs and not any(own.exists() for own in (run.plan, run.history, run.verdict)):
        raise RequestError(
            f"{run_directory} holds {theirs[0]} and nothing of a run: give a directory that a run"
            " has written"
        )
    for old in (run.verdict, run.report, run.junit):
        old.unlink(missing_ok=True)
    evidence = Evidence(run)
    findings = run_checkers(evidence)
    told, troubles = parts(evidence)
    plan = known(lambda: evidence.plan)
    verdict = Verdict((*findings, *troubles), plan.claim if plan else None)
    document = verdict_document(evidence, verdict, told)
    write_whole(run.verdict, json.dumps(document, indent=2, allow_nan=False) + "\n")
    write_reports(run)
    seal(run)
    return verdict
