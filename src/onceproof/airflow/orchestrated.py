"""Phases of a run for an orchestrator, which calls each one from a task of its own.

An orchestrator's tasks run at least once. So each function may be called twice, concurrently, and
again after the first caller was killed. No second driver ever starts for one run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from onceproof import api
from onceproof.airflow.run_summary import record_and_summarize
from onceproof.documents import read_object
from onceproof.errors import OnceproofError, StackError
from onceproof.job.handle import end_agent, find_agent, start_agent
from onceproof.judging.checkers.expectations import expectations
from onceproof.judging.checkers.faults_landed import landed, strikes_in
from onceproof.past.record import begin_run, record_run
from onceproof.phases.all_phases import PHASES
from onceproof.phases.detached import (
    end_all_detached,
    find_detached,
    is_done,
    refuse_unfinished,
    start_detached,
)
from onceproof.phases.judge import judge_run
from onceproof.phases.phase import PhaseEnd, end_of, refuse_failed
from onceproof.phases.plan import Origin
from onceproof.phases.release import release
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence
from onceproof.runs.history import HistoryReader
from onceproof.runs.plan import Plan
from onceproof.verdict import Grade, Verdict

log = logging.getLogger(__name__)
_BEYOND_S = 120.0
# Started during another phase, so that Spark and a library of five seconds are already loaded.
_BESIDE = {"process": "recompute", "recompute": "validate"}


def plan_run(
    scenario: str, seed: int, runs: Path, subject: str, origin: Origin, *, is_open: bool = False
) -> RunDirectory:
    """Plan a run; release earlier runs of the same orchestrator id first."""
    found = api.load_scenario(scenario)
    for path in sorted((runs / found.name).glob("*/plan.json")):
        if origin.orchestrator and read_object(path).get("orchestrator") == origin.orchestrator:
            release_run(RunDirectory(path.parent))
    run = api.plan(found, seed, runs, subject=subject, origin=origin, is_open=is_open)
    api.recorded(lambda: begin_run(run, runs))
    return run


def carry_out(run: RunDirectory, name: str, *options: Any) -> None:
    """Carry out a short phase in this process."""
    run.logs.mkdir(exist_ok=True)
    PHASES[name](run, Plan.read(run.plan), *options)


def begin(run: RunDirectory, name: str, *, is_repeat: bool = False) -> None:
    """Start a long phase in a process of its own; repeat a completed one only if `is_repeat`."""
    if name == "process":
        start_agent(run)
    elif name != "disturb" and (is_repeat or not is_done(run, name)):
        start_detached(run, name)
    if name in _BESIDE:
        start_detached(run, _BESIDE[name])


def longest(run: RunDirectory) -> timedelta:
    """Return the longest time that any phase of a run may take, from the run's own limits."""
    return timedelta(seconds=2 * Plan.read(run.plan).limits.run_s + _BEYOND_S)


class PhaseWatch:
    """Polling for the end of a long phase; each call reads only new history records."""

    def __init__(self, run: RunDirectory, name: str) -> None:
        self._run, self._name = run, name
        self._history, self._produce = HistoryReader(run.history), PhaseEnd(run, "produce")
        faults = Plan.read(run.plan).faults if name == "disturb" else ()
        self._left = {fault.name for fault in faults}  # faults that have not struck yet

    def has_ended(self) -> bool:
        """Return whether the phase has ended, successfully or not."""
        if self._name == "disturb":
            self._left -= strikes_in(self._history.read_new()).keys()
            return not self._left or self._has_process_ended()
        if self._name == "process":
            return self._has_process_ended()
        process = find_detached(self._run, self._name)
        return process is None or not process.is_alive

    def _has_process_ended(self) -> bool:
        # There will be no agent if producing the input failed before a job started.
        agent = find_agent(self._run)
        if agent is not None:
            return not agent.is_alive
        end = self._produce.look()
        return end is not None and not end.is_ok


def _strikes(run: RunDirectory) -> dict[str, Any]:
    return {name: dict(strike.proof) for name, strike in landed(Evidence(run)).items()}


def outcome(run: RunDirectory, name: str) -> dict[str, Any]:
    """Return a long phase's result for its task; raise `StackError` if the phase failed."""
    return _OUTCOMES.get(name, _of_phase)(run, name)


def _of_phase(run: RunDirectory, name: str) -> dict[str, Any]:
    refuse_unfinished(run, name)
    return {"run": str(run.root)}


def _of_process(run: RunDirectory, name: str) -> dict[str, Any]:
    end = end_of(run, name)
    if end is None:
        raise StackError(f"process: its agent exited unexpectedly; see {run.logs / 'agent.log'}")
    refuse_failed(end)
    return {"run": str(run.root)}


def _of_disturb(run: RunDirectory, name: str) -> dict[str, Any]:  # noqa: ARG001
    strikes = _strikes(run)
    if missing := [one.name for one in Plan.read(run.plan).faults if one.name not in strikes]:
        raise StackError(f"disturb: no proof that these faults struck: {', '.join(missing)}")
    return {"faults": strikes}


def _of_validate(run: RunDirectory, name: str) -> dict[str, Any]:
    refuse_unfinished(run, name)
    evidence = Evidence(run)
    found = expectations(evidence)
    if found.verdict is Grade.FAIL and evidence.plan.claim.verdict is Grade.PASS:
        raise StackError(f"validate: {found.reason}")
    return {"validation": str(run.validation), "verdict": found.verdict, "reason": found.reason}


_OUTCOMES: dict[str, Callable[[RunDirectory, str], dict[str, Any]]] = {
    "process": _of_process,
    "disturb": _of_disturb,
    "validate": _of_validate,
}


def judge_ended(run: RunDirectory) -> tuple[Verdict, dict[str, Any]]:
    """End the run's processes, judge and record it; return the verdict and its summary."""
    end_all_detached(run)
    end_agent(run)
    verdict = judge_run(run.root)
    return verdict, record_and_summarize(run)


def release_run(run: RunDirectory) -> Verdict | None:
    """Release a run's topics, tables and stack; its evidence stays as the judge saw it.

    A run that was not judged is judged now, and its verdict returned, so that every run has one. A
    judged run is recorded again, since its judge may have been killed before it recorded it.
    """
    if run.verdict.exists():
        try:
            record_run(run, run.root.parents[1])
        finally:
            release(run, Plan.read(run.plan))
        return None
    try:
        carry_out(run, "release")
    finally:
        verdict, _ = judge_ended(run)
    return verdict


def release_abandoned(runs: Path) -> list[str]:
    """Release each orchestrated run that was prepared, never released, and exceeded its time limit.

    A killed orchestrator leaves such runs. Returns a line for each.
    """
    found = []
    for path in sorted(runs.glob("*/*/prepared.json")):
        run = RunDirectory(path.parent)
        if run.released.exists() or not _is_abandoned(run):
            continue
        try:
            release_run(run)
        except OnceproofError as error:
            found.append(f"{run.root}: {error}")
        else:
            found.append(str(run.root))
    return found


def _is_abandoned(run: RunDirectory) -> bool:
    if not read_object(run.plan).get("orchestrator"):
        return False  # a command releases its runs itself
    living = [find_agent(run), *(find_detached(run, name) for name in PHASES)]
    if any(one is not None and one.is_alive for one in living):
        return False
    return time.time() - run.history.stat().st_mtime > Plan.read(run.plan).limits.run_s
