"""Faults drawn from a seed by weight, that fit a scenario, in sequence or at once.

The same scenario, seed and number give the same faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from onceproof import failpoints
from onceproof.errors import RequestError, out_of_range
from onceproof.faults import At, Draw
from onceproof.faults.registry import draws
from onceproof.runs.plan import OVER, FaultPart
from onceproof.scenario.checks import misplaced
from onceproof.scenario.model import Scenario
from onceproof.sinks import find_sink
from onceproof.verdict import Grade

MOST = 50
_AT_ONCE = 1 / 3  # how often a fault strikes at the moment of the one before
_LEAST_SHARE, _MOST_SHARE = 0.05, 0.7


def with_random_faults(scenario: Scenario, seed: int, count: int) -> Scenario:
    """Return the scenario with this many random faults instead of its own, and enough restarts.

    It is another scenario with another name, so its runs are no evidence for the original.
    """
    if not 1 <= count <= MOST:
        raise RequestError(out_of_range("--random", count, f"1 to {MOST}"))
    if scenario.claim.verdict is not Grade.PASS or scenario.ends != OVER:
        raise RequestError(
            f"{scenario.name} has a claim for its own faults; use a scenario that claims PASS, such"
            " as one without faults"
        )
    rng = Random(f"{seed} {scenario.name} {count}")
    pipeline, sink, _ = scenario.name.split("__", 2)
    return replace(
        scenario,
        name=f"{pipeline}__{sink}__random_{count}",
        faults=_draw(scenario, rng, count),
        restart={"strategy": "fixed-delay", "attempts": 3 * count + 3, "delay_s": 0.5},
        drawn=count,
        origin=scenario.address,
    )


def fitting(scenario: Scenario) -> list[Draw]:
    """Return the draws that are possible with this scenario's job, sink and stack."""
    kind = find_sink(scenario.output.sink, scenario.output.options)
    return [
        one
        for one in draws()
        if one.store in ("", kind.store)
        and (one.at not in (At.STEP, At.TASK) or _steps(scenario, one))
    ]


def _draw(scenario: Scenario, rng: Random, count: int) -> tuple[FaultPart, ...]:
    choices = fitting(scenario)
    weights = [one.weight for one in choices]
    at = rng.uniform(_LEAST_SHARE, _MOST_SHARE)
    found = []
    for number in range(1, count + 1):
        one = rng.choices(choices, weights)[0]
        if rng.random() > _AT_ONCE:
            at = rng.uniform(_LEAST_SHARE, _MOST_SHARE)
        target = one.target.format(partition=rng.randrange(scenario.input.partitions))
        name = f"{one.verb}_{target.partition(':')[0]}_{number}"
        found.append(FaultPart(name, one.verb, target, _when(scenario, one, at, rng)))
    return tuple(found)


def _when(scenario: Scenario, one: Draw, at: float, rng: Random) -> Mapping[str, Any]:
    """Return the moment at this share of the input, or in the batch that reads it."""
    if one.at is At.SHARE:
        return {"committed": round(at, 2)}
    events = scenario.input.options["events"]
    a_batch = scenario.job.options.get("max_offsets", events)
    batch = int(at * events / max(1, a_batch))
    step = "commit_logged" if one.at is At.COMMIT else rng.choice(_steps(scenario, one))
    return {"failpoint": step, "batch": batch}


def _steps(scenario: Scenario, one: Draw) -> list[str]:
    kind = find_sink(scenario.output.sink, scenario.output.options)
    return [
        step
        for step in kind.steps
        if (step in failpoints.TASK) is (one.at is At.TASK)
        and not misplaced(one.verb, one.target, step, kind)
    ]
