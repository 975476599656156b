"""The decision of a gate, from rows of the history only; anything unproved closes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice

from onceproof.errors import RequestError, unknown
from onceproof.gates.demands import Demands
from onceproof.gates.fields import REFUSE
from onceproof.gates.policy import Need, Policy
from onceproof.past.entry import Entry
from onceproof.past.issues import Issue, matches, shows
from onceproof.verdict import EXIT_AS_CLAIMED, EXIT_NOT_AS_CLAIMED, EXIT_UNKNOWN, Grade

Trouble = Callable[[Entry], str]
Other = Callable[[Entry, Demands | None, Entry], str]


class Kind(StrEnum):
    """The kind of a reason: the first two close the gate."""

    FAILURE = "failure"
    LACK = "lack"
    ACCEPTED = "accepted"
    MET = "met"


@dataclass(frozen=True)
class Reason:
    """A sentence, with the scenario and the run that it is about; each may be empty."""

    kind: Kind
    scenario: str
    reason: str
    run: str = ""


@dataclass(frozen=True)
class Decision:
    """The decision for a version: whether the gate is open, the exit code, and the reasons."""

    open: bool
    exit: int
    version: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Case:
    """The circumstances shared by all needs.

    `trouble` returns what is wrong with a run's evidence, and `other` why a run does not count: its
    scenario, its code or its environment differ from those of the first run that counts.
    """

    version: str
    allowed: tuple[Issue, ...]
    known: tuple[Issue, ...]
    now: datetime
    trouble: Trouble
    other: Other


def decide(
    policy: Policy,
    version: str,
    entries: Sequence[Entry],
    issues: Sequence[Issue],
    now: datetime,
    trouble: Trouble,
    other: Other,
) -> Decision:
    """Return whether the history proves all that the policy requires, for exactly this version.

    A failure (exit 1) takes precedence over a lack of evidence (exit 2). Of each scenario the
    newest runs count, as many as the policy requires; older runs do not, if they were also recorded
    earlier.
    """
    case = Case(version, _allowed(policy, issues), tuple(issues), now, trouble, other)
    newest_first = sorted(entries, key=lambda entry: entry.at, reverse=True)
    reasons = list(_of_version(version))
    for need in policy.needs:
        of_scenario = [one for one in newest_first if one.scenario == need.scenario]
        reasons += _of_need(need, of_scenario, case)
    if not policy.needs:
        reasons.append(Reason(Kind.LACK, "", "The policy requires nothing"))
    kinds = {reason.kind for reason in reasons}
    closed = EXIT_UNKNOWN if Kind.LACK in kinds else EXIT_AS_CLAIMED
    exit_code = EXIT_NOT_AS_CLAIMED if Kind.FAILURE in kinds else closed
    return Decision(exit_code == 0, exit_code, version, tuple(dict.fromkeys(reasons)))


def _allowed(policy: Policy, issues: Sequence[Issue]) -> tuple[Issue, ...]:
    by_word = {str(one.number): one for one in issues} | {one.name: one for one in issues}
    found = []
    for word in map(str, policy.known_issues):
        if word not in by_word or not word:
            names = filter(None, by_word)
            raise RequestError(
                f"known_issues: {unknown('issue', word, names, listed_by='`onceproof known list`')}"
            )
        found.append(by_word[word])
    return tuple(found)


def _of_version(version: str) -> Iterator[Reason]:
    if version in ("", "unknown"):
        yield Reason(Kind.LACK, "", "The version is unknown, so no run can be of it")
    elif version.endswith("+dirty"):
        why = "has uncommitted changes, so its runs may be of different code"
        yield Reason(Kind.LACK, "", f"Version {version} {why}")


def _of_need(need: Need, runs: Sequence[Entry], case: Case) -> list[Reason]:
    mine = [run for run in runs if run.subject == case.version]
    newest = mine[: need.passes]
    first = next((run for run in newest if run.ran_on), newest[0] if newest else None)
    reasons = [reason for run in newest for reason in _of_run(need, run, first or run, case)]
    reasons += _of_many(need, mine, case)
    reasons += _of_recorded_last(need, newest, mine)
    reasons += _of_number(need, newest, runs, case.version)
    if not any(reason.kind in (Kind.FAILURE, Kind.LACK) for reason in reasons):
        seeds, landed = len({run.seed for run in newest}), _landed(need, newest)
        numbers = f"runs: {len(newest)}, seeds: {seeds}, faults that struck: {landed}"
        reasons.append(Reason(Kind.MET, need.scenario, f"As required: {numbers}", newest[0].run))
    return reasons


def _of_number(
    need: Need, newest: Sequence[Entry], runs: Sequence[Entry], version: str
) -> Iterator[Reason]:
    def lack(reason: str) -> Reason:
        return Reason(Kind.LACK, need.scenario, reason, newest[0].run if newest else "")

    if not newest:
        other = f"; its newest run is of version {runs[0].subject}" if runs else ""
        yield lack(f"No run of version {version}, but {need.passes} must pass{other}")
        return
    if len(newest) < need.passes:
        yield lack(f"Runs of version {version}: {len(newest)}, but {need.passes} must pass")
    if (seeds := len({run.seed for run in newest})) < need.seeds:
        yield lack(
            f"Seeds of the newest {len(newest)} runs: {seeds}, but {need.seeds} are required"
        )
    if (landed := _landed(need, newest)) < need.landed:
        least = f", with the effect {need.effect} or more" if need.effect else ""
        struck = f"Faults that struck in the newest {len(newest)} runs{least}: {landed}"
        yield lack(f"{struck}, but {need.landed} are required")


def _of_many(need: Need, mine: Sequence[Entry], case: Case) -> Iterator[Reason]:
    """Yield the reasons by rate and flakiness; runs of other code do not count."""
    if not need.looks_back:
        return
    first = next((run for run in mine if run.ran_on), None)
    same = (one for one in mine if not case.other(one, need.demands, first or one))
    runs = list(islice(same, need.looks_at))

    def is_good(run: Entry) -> bool:
        is_accepted = not run.is_unknown and _of_red(run, "", case)[0] is Kind.ACCEPTED
        return (run.is_proved or (not run.as_claimed and is_accepted)) and not case.trouble(run)

    for is_failure, reason, run in (*below_rate(need, runs, is_good), *flakes(need, runs)):
        yield Reason(Kind.FAILURE if is_failure else Kind.LACK, need.scenario, reason, run)


def _landed(need: Need, runs: Sequence[Entry]) -> int:
    return sum(run.landed_with(need.effect) for run in runs)


def _of_recorded_last(
    need: Need, newest: Sequence[Entry], mine: Sequence[Entry]
) -> Iterator[Reason]:
    """Yield failed runs that only their clock puts before those that count: it may be wrong."""
    last = sorted(mine, key=lambda run: run.number, reverse=True)[: need.passes]
    for run in last:
        if not run.as_claimed and run.run not in {one.run for one in newest}:
            why = f"{run.verdict}; recorded after runs that count, although it ended before them"
            yield Reason(Kind.LACK, need.scenario, f"Not as claimed, {why}", run.run)


def _of_run(need: Need, run: Entry, first: Entry, case: Case) -> Iterator[Reason]:
    """Yield what is wrong with one of the runs that count, and what was accepted."""

    def because(kind: Kind, reason: str) -> Reason:
        return Reason(kind, need.scenario, reason, run.run)

    why = run.reasons[0] if run.reasons else "no reason recorded"
    if run.verdict == Grade.UNKNOWN:
        yield because(Kind.LACK, f"UNKNOWN: {why}")
    elif not run.as_claimed:
        yield because(*_of_red(run, why, case))
    elif not run.is_proved:
        yield because(Kind.LACK, "Its row contradicts itself: as claimed, but not proved")
    if run.at > case.now:
        yield because(Kind.LACK, f"It ended at {run.at.isoformat()}, in the future")
    elif need.max_age is not None and case.now - run.at > need.max_age:
        yield because(Kind.LACK, f"Too old: it ended at {run.at.isoformat()}")
    if problem := case.trouble(run) or case.other(run, need.demands, first):
        yield because(Kind.LACK, problem)


def _of_red(run: Entry, first: str, case: Case) -> tuple[Kind, str]:
    """Return the reason for a red run: it passes only by an allowed issue that has not expired."""
    if run.landed == run.faults:
        if issue := next((one for one in case.allowed if matches(one, run, case.now)), None):
            return Kind.ACCEPTED, f"Known issue {issue.number} ({issue.reason}), accepted: {first}"
        if issue := next((one for one in case.allowed if shows(one, run)), None):
            return Kind.LACK, f"Known issue {issue.number} expired on {issue.until}: {first}"
    issue = next((one for one in case.known if shows(one, run)), None)
    known = f"known issue {issue.number}, which the policy does not allow: " if issue else ""
    return Kind.FAILURE, f"Not as claimed, {run.verdict}: {known}{first}"


def below_rate(
    need: Need, runs: Sequence[Entry], is_good: Callable[[Entry], bool]
) -> Iterator[tuple[bool, str, str]]:
    """Yield, if too few runs are as claimed: whether failures alone explain it, why, and a run."""
    bad = [run for run in runs if not is_good(run)]
    if not runs or (len(runs) - len(bad)) / len(runs) >= need.rate:
        return
    red = [run for run in bad if run.verdict != Grade.UNKNOWN and not run.as_claimed]
    rate = f"As claimed: {len(runs) - len(bad)} of the newest {len(runs)} runs"
    is_failure = (len(runs) - len(red)) / len(runs) < need.rate
    yield is_failure, f"{rate}, but the rate must be {need.rate:g}", (red or bad)[0].run


def flakes(need: Need, runs: Sequence[Entry]) -> Iterator[tuple[bool, str, str]]:
    """Yield the same for each flaky seed and for UNKNOWN runs, if the policy refuses flaky runs."""
    if need.flaky != REFUSE:
        return
    by_seed: dict[int | None, list[Entry]] = defaultdict(list)
    for run in runs:
        if run.verdict != Grade.UNKNOWN:
            by_seed[run.seed].append(run)
    for seed, some in by_seed.items():
        red = [run for run in some if not run.as_claimed]
        if 0 < len(red) < len(some):
            reason = f"Flaky: of {len(some)} runs with seed {seed}, {len(red)} not as claimed"
            yield True, reason, red[0].run
    if without := [run for run in runs if run.verdict == Grade.UNKNOWN]:
        reason = f"Flaky: {len(without)} of the newest {len(runs)} runs UNKNOWN"
        yield False, reason, without[0].run
