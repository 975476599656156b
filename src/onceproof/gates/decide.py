"""The decision of a gate: pure, from rows of the history alone; what is not proved closes it."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice

from onceproof.errors import RequestError
from onceproof.gates.demands import Demands
from onceproof.gates.fields import REFUSE
from onceproof.gates.policy import Need, Policy
from onceproof.past.entry import Entry
from onceproof.past.issues import Issue, matches, shows
from onceproof.verdict import EXIT_AS_CLAIMED, EXIT_NOT_AS_CLAIMED, EXIT_UNKNOWN, Grade

Trouble = Callable[[Entry], str]
Other = Callable[[Entry, Demands | None, Entry], str]


class Kind(StrEnum):
    """What a reason does: the first two close the gate."""

    FAILURE = "failure"
    LACK = "lack"
    ACCEPTED = "accepted"
    MET = "met"


@dataclass(frozen=True)
class Reason:
    """A sentence about one scenario, and the run that shows it; both empty where there is none."""

    kind: Kind
    scenario: str
    reason: str
    run: str = ""


@dataclass(frozen=True)
class Decision:
    """Whether the gate is open for a version, the exit code, and why."""

    open: bool
    exit: int
    version: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Case:
    """What is the same for each need.

    `trouble` says what is wrong with the evidence of a run, and `other` why it does not count: it
    is no run of the scenario, or of other code than the first that counts, or ran on other things.
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
    """Return whether the history proves for this very version all that the policy asks for.

    A failure (exit 1) weighs more than a lack of evidence (exit 2). Of each scenario the newest
    runs count, as many as the policy wants; what lies behind them is past, if it was also recorded
    before them.
    """
    case = Case(version, _allowed(policy, issues), tuple(issues), now, trouble, other)
    newest_first = sorted(entries, key=lambda entry: entry.at, reverse=True)
    reasons = list(_of_version(version))
    for need in policy.needs:
        of_scenario = [one for one in newest_first if one.scenario == need.scenario]
        reasons += _of_need(need, of_scenario, case)
    if not policy.needs:
        reasons.append(Reason(Kind.LACK, "", "The policy asks for nothing"))
    kinds = {reason.kind for reason in reasons}
    closed = EXIT_UNKNOWN if Kind.LACK in kinds else EXIT_AS_CLAIMED
    exit_code = EXIT_NOT_AS_CLAIMED if Kind.FAILURE in kinds else closed
    return Decision(exit_code == 0, exit_code, version, tuple(dict.fromkeys(reasons)))


def _allowed(policy: Policy, issues: Sequence[Issue]) -> tuple[Issue, ...]:
    by_word = {str(one.number): one for one in issues} | {one.name: one for one in issues}
    found = []
    for word in map(str, policy.known_issues):
        if word not in by_word or not word:
            near = difflib.get_close_matches(word, filter(None, by_word), 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise RequestError(
                f"known_issues: the history has no issue {word!r}: {hint}`onceproof known list`"
                " names them all"
            )
        found.append(by_word[word])
    return tuple(found)


def _of_version(version: str) -> Iterator[Reason]:
    if version in ("", "unknown"):
        yield Reason(Kind.LACK, "", "The version is not known, so no run can be of it")
    elif version.endswith("+dirty"):
        said = "had changes that were not committed, so no two runs need be of the same code"
        yield Reason(Kind.LACK, "", f"Version {version} {said}")


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
        said = f"runs: {len(newest)}, seeds: {seeds}, faults that struck: {landed}"
        reasons.append(Reason(Kind.MET, need.scenario, f"As asked for: {said}", newest[0].run))
    return reasons


def _of_number(
    need: Need, newest: Sequence[Entry], runs: Sequence[Entry], version: str
) -> Iterator[Reason]:
    """Say what the runs lack together."""

    def lack(said: str) -> Reason:
        return Reason(Kind.LACK, need.scenario, said, newest[0].run if newest else "")

    if not newest:
        other = f"; its newest run is of version {runs[0].subject}" if runs else ""
        yield lack(f"No run of version {version}, and {need.passes} must pass{other}")
        return
    if len(newest) < need.passes:
        yield lack(f"Runs of version {version}: {len(newest)}, and {need.passes} must pass")
    if (seeds := len({run.seed for run in newest})) < need.seeds:
        yield lack(f"Seeds among the newest {len(newest)} runs: {seeds}, and {need.seeds} must be")
    if (landed := _landed(need, newest)) < need.landed:
        least = f", with the effect {need.effect} or more" if need.effect else ""
        said = f"Faults that struck in the newest {len(newest)} runs{least}: {landed}"
        yield lack(f"{said}, and {need.landed} must have")


def _of_many(need: Need, mine: Sequence[Entry], case: Case) -> Iterator[Reason]:
    """Say what the runs show together that a policy looks back at; of other code, none counts."""
    if not need.looks_back:
        return
    first = next((run for run in mine if run.ran_on), None)
    same = (one for one in mine if not case.other(one, need.demands, first or one))
    runs = list(islice(same, need.looks_at))

    def is_good(run: Entry) -> bool:
        is_accepted = not run.is_unknown and _of_red(run, "", case)[0] is Kind.ACCEPTED
        return (run.is_proved or (not run.as_claimed and is_accepted)) and not case.trouble(run)

    for is_failure, said, run in (*below_rate(need, runs, is_good), *flakes(need, runs)):
        yield Reason(Kind.FAILURE if is_failure else Kind.LACK, need.scenario, said, run)


def _landed(need: Need, runs: Sequence[Entry]) -> int:
    return sum(run.landed_with(need.effect) for run in runs)


def _of_recorded_last(
    need: Need, newest: Sequence[Entry], mine: Sequence[Entry]
) -> Iterator[Reason]:
    """Say which runs only a clock puts behind those that count: it may have been set back."""
    last = sorted(mine, key=lambda run: run.number, reverse=True)[: need.passes]
    for run in last:
        if not run.as_claimed and run.run not in {one.run for one in newest}:
            said = f"{run.verdict}, and recorded after runs that count, though it ended before them"
            yield Reason(Kind.LACK, need.scenario, f"Not as claimed, {said}", run.run)


def _of_run(need: Need, run: Entry, first: Entry, case: Case) -> Iterator[Reason]:
    """Say what is wrong with one of the runs that count, and what of it was accepted."""

    def because(kind: Kind, said: str) -> Reason:
        return Reason(kind, need.scenario, said, run.run)

    why = run.reasons[0] if run.reasons else "it gives no reason"
    if run.verdict == Grade.UNKNOWN:
        yield because(Kind.LACK, f"UNKNOWN: {why}")
    elif not run.as_claimed:
        yield because(*_of_red(run, why, case))
    elif not run.is_proved:
        yield because(Kind.LACK, "Its row contradicts itself: it is as claimed, and not proved")
    if run.at > case.now:
        yield because(Kind.LACK, f"It ran until {run.at.isoformat()}, which is yet to come")
    elif need.max_age is not None and case.now - run.at > need.max_age:
        yield because(Kind.LACK, f"Too old: it ran until {run.at.isoformat()}")
    if said := case.trouble(run) or case.other(run, need.demands, first):
        yield because(Kind.LACK, said)


def _of_red(run: Entry, first: str, case: Case) -> tuple[Kind, str]:
    """Return what a red run does: only an issue that is allowed, and not expired, lets it pass."""
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
    """Yield, if too few runs are as claimed: whether failures suffice for that, why, and a run."""
    bad = [run for run in runs if not is_good(run)]
    if not runs or (len(runs) - len(bad)) / len(runs) >= need.rate:
        return
    red = [run for run in bad if run.verdict != Grade.UNKNOWN and not run.as_claimed]
    said = f"As claimed: {len(runs) - len(bad)} of the newest {len(runs)} runs"
    is_failure = (len(runs) - len(red)) / len(runs) < need.rate
    yield is_failure, f"{said}, and the rate must be {need.rate:g}", (red or bad)[0].run


def flakes(need: Need, runs: Sequence[Entry]) -> Iterator[tuple[bool, str, str]]:
    """Yield, where flaky runs are refused, the same for each seed and for UNKNOWN runs."""
    if need.flaky != REFUSE:
        return
    by_seed: dict[int | None, list[Entry]] = defaultdict(list)
    for run in runs:
        if run.verdict != Grade.UNKNOWN:
            by_seed[run.seed].append(run)
    for seed, some in by_seed.items():
        red = [run for run in some if not run.as_claimed]
        if 0 < len(red) < len(some):
            said = f"Flaky: of {len(some)} runs with seed {seed}, {len(red)} not as claimed"
            yield True, said, red[0].run
    if unknown := [run for run in runs if run.verdict == Grade.UNKNOWN]:
        said = f"Flaky: {len(unknown)} of the newest {len(runs)} runs UNKNOWN"
        yield False, said, unknown[0].run
