"""The public API: run a scenario, run a stored one again, judge, gate, and compare rows.

It is exported as `onceproof.run`, `onceproof.judge` and so on; docs/test-a-job/api.md describes
it. The command line, the DAGs and the pytest plugin run and judge scenarios through it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onceproof.errors import EvidenceError, RequestError
from onceproof.machine.home import runs_folder
from onceproof.runs.directory import RunDirectory
from onceproof.verdict import Grade, Verdict

if TYPE_CHECKING:
    from onceproof.gates.decide import Decision
    from onceproof.past.entry import Entry
    from onceproof.phases.plan import Origin
    from onceproof.phases.produce import Progress
    from onceproof.runs.plan import FaultPart, Parts, Plan
    from onceproof.scenario import Scenario

log = logging.getLogger("onceproof")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """A judged run: its directory and its verdict document.

    `exit_code` is that of `onceproof run`: 0 as claimed, 1 not as claimed, 2 unknown.
    """

    directory: Path
    exit_code: int

    @cached_property
    def document(self) -> dict[str, Any]:
        """The content of `verdict.json` (docs/schemas/verdict.json)."""
        from onceproof.judging.report import read_document

        return read_document(RunDirectory(self.directory))

    @property
    def verdict(self) -> Grade:
        """PASS, UNKNOWN or FAIL."""
        return Grade(self.document["verdict"])

    @property
    def as_claimed(self) -> bool:
        """Whether the run proved what its scenario claims."""
        return bool(self.document["as_claimed"])

    @property
    def reasons(self) -> tuple[str, ...]:
        """The sentences behind the verdict, the worst first."""
        return tuple(self.document["reasons"])


def load_scenario(scenario: str | Path) -> Scenario:
    """Return the one scenario of a name in the catalogue, of a FILE, or of FILE::NAME."""
    from onceproof.scenario.catalogue import find_scenario

    return find_scenario(str(scenario))


def run(
    scenario: Scenario | str | Path,
    *,
    seed: int = 0,
    random: int = 0,
    stack: str | Path | None = None,
    runs: str | Path | None = None,
    subject: str = "",
    is_open: bool = False,
    is_recorded: bool = True,
    say: Say = log.debug,
    progress: Progress | None = None,
) -> Run:
    """Run a scenario, judge it, and remove everything but the run's directory.

    `random` draws this many faults from the seed, instead of the scenario's own. `stack` is the
    folder of a local stack, `compose:PROJECT` or `external:FILE`; by default the running stack of
    the default folder is used, else one is started for this run alone. `subject` is the version
    under test, where git does not have it. `is_open`: other users may read the run. A run that is
    not `is_recorded` has no row in the verdict history, so that no gate counts it.

    Raises `RequestError` for invalid requests, before anything starts. A later failure makes the
    verdict UNKNOWN.
    """
    from onceproof.scenario.random_faults import with_random_faults

    asked = load_scenario(scenario) if isinstance(scenario, str | Path) else scenario
    if random:
        asked = with_random_faults(asked, seed, random)
    folder = runs_folder(runs)
    refuse_unable(stack, asked.faults)
    planned = plan(asked, seed, folder, subject=subject, is_open=is_open)
    return live(planned, folder, stack, say=say, progress=progress, is_recorded=is_recorded)


def replay(
    directory: str | Path,
    *,
    stack: str | Path | None = None,
    runs: str | Path | None = None,
    say: Say = log.debug,
    progress: Progress | None = None,
) -> Run:
    """Run the plan of a stored run again, as a new run; see `run`."""
    from onceproof.phases.replay import plan_replay

    folder, found = runs_folder(runs), stored(directory)
    asked = plan_in(found)
    _refuse_lacking(asked)
    refuse_unable(stack, asked.faults)
    again = plan_replay(found, folder)
    return live(again, folder, stack, say=say, progress=progress)


def judge(directory: str | Path) -> Run:
    """Judge a stored run again, from its directory alone.

    The verdict history is updated only if it has the run.
    """
    from onceproof.past.record import update_verdict
    from onceproof.phases.judge import judge_run

    root = Path(directory)
    verdict = judge_run(root)
    recorded(lambda: update_verdict(RunDirectory(root), root.absolute().parent.parent))
    return Run(root, verdict.exit_code)


def gate(policy: str | Path, version: str, *, runs: str | Path | None = None) -> Decision:
    """Return the decision whether the verdict history proves a policy for a version."""
    from onceproof.gates.ask import ask

    return ask(Path(policy), version, runs_folder(runs))


def plan(
    scenario: Scenario,
    seed: int,
    runs: Path,
    *,
    subject: str = "",
    origin: Origin | None = None,
    is_open: bool = False,
) -> RunDirectory:
    """Write the plan of a new run, or raise `RequestError` for a job that cannot be started here.

    For orchestrators, which run its phases themselves.
    """
    from onceproof.phases.plan import Origin, make_plan
    from onceproof.phases.subject import refuse_absent

    refuse_absent(scenario.job, scenario.folder)
    _refuse_lacking(scenario)
    given = origin or Origin()
    return make_plan(scenario, seed, runs, subject=subject, origin=given, is_open=is_open)


def live(
    found: RunDirectory,
    runs: Path,
    stack: str | Path | None = None,
    *,
    is_recorded: bool = True,
    say: Say = log.debug,
    progress: Progress | None = None,
) -> Run:
    """Execute a planned run, judge it, and remove everything but its directory; see `run`."""
    from onceproof.past.record import begin_run, record_run
    from onceproof.phases.whole_run import execute_run

    log.info("run %s", found.root)
    if is_recorded:
        recorded(lambda: begin_run(found, runs))
    try:
        verdict: Verdict = execute_run(found, Path(stack) if stack else None, say, progress)
    finally:  # an interrupted run is judged too, as UNKNOWN
        if is_recorded:
            recorded(lambda: record_run(found, runs))
    return Run(found.root, verdict.exit_code)


def stored(directory: str | Path) -> RunDirectory:
    """Return the run in a directory, or raise `RequestError` if it has no plan."""
    found = RunDirectory(Path(directory))
    if not found.plan.exists():
        raise RequestError(
            f"{directory} is not a run's directory: it has no plan.json; use one that"
            " `onceproof history` lists"
        )
    return found


def plan_in(run: RunDirectory) -> Plan:
    """Return a stored run's plan, or raise `RequestError` if it is damaged."""
    from onceproof.runs.plan import Plan

    try:
        return Plan.read(run.plan)
    except EvidenceError as error:
        raise RequestError(f"{run.root}: {error}; use the directory of another run") from None


def _refuse_lacking(asked: Parts) -> None:
    from onceproof.job.needs import libraries_of, refuse_unset
    from onceproof.setup.libraries import refuse_missing

    refuse_unset(asked)
    refuse_missing(libraries_of(asked))


def refuse_unable(stack: str | Path | None, faults: Iterable[FaultPart]) -> None:
    """Raise `RequestError` for a stack that is missing or cannot do one of the faults."""
    from onceproof.faults import abilities
    from onceproof.stacks.local.stack import default_folder
    from onceproof.stacks.opening import find_stack, open_stack

    found = open_stack(str(stack)) if stack else find_stack(str(default_folder()))
    if found is not None:
        abilities.refuse_unable(found, faults)


def recorded(record: Callable[[], Entry | None]) -> None:
    """Record a run; an error is logged and does not change the verdict.

    A run that is not recorded is missing evidence, so the gate stays closed.
    """
    from onceproof.gates.verification import trouble_of

    try:
        entry = record()
        if entry and (trouble := trouble_of(entry)):
            log.warning("onceproof: the verdict history was not updated: %s", trouble)
    except Exception as error:
        log.warning("onceproof: the run is not in the verdict history: %s", error)
