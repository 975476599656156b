"""The trend of each scenario, from the rows of its runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from onceproof.past.entry import Entry
from onceproof.verdict import Grade


@dataclass(frozen=True)
class Trend:
    """A scenario's runs as numbers; rates are shares from 0 to 1.

    A run is flaky if it is UNKNOWN, or if its version had both results with its seed, on the same
    Spark, Java, Python and jars.
    """

    scenario: str
    runs: int
    pass_rate: float
    recovery_median_s: float | None
    recovery_worst_s: float | None
    flake_rate: float


def trends(entries: Iterable[Entry]) -> list[Trend]:
    """Return the trend of each scenario, in the order of their names."""
    by_scenario: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_scenario[entry.scenario].append(entry)
    return [_trend(name, by_scenario[name]) for name in sorted(by_scenario)]


def _same(run: Entry) -> tuple[str, str, int | None]:
    return run.subject, run.ran_on, run.seed


def _trend(scenario: str, runs: Sequence[Entry]) -> Trend:
    results: dict[tuple[str, str, int | None], set[bool]] = defaultdict(set)
    for run in runs:
        if run.verdict != Grade.UNKNOWN:
            results[_same(run)].add(run.as_claimed)
    flaky = [run for run in runs if run.verdict == Grade.UNKNOWN or len(results[_same(run)]) > 1]
    recoveries = [run.recovery_s for run in runs if run.recovery_s is not None]
    return Trend(
        scenario,
        len(runs),
        sum(run.as_claimed for run in runs) / len(runs),
        median(recoveries) if recoveries else None,
        max(recoveries, default=None),
        len(flaky) / len(runs),
    )
