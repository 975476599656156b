"""What the newest runs of a scenario show together: the rate of those as claimed, and flakes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from onceproof.gate.fields import REFUSE
from onceproof.gate.policy import Need
from onceproof.past.entry import Entry
from onceproof.verdict import Grade


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
