"""A night: which runs it is made of."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from onceproof.airflow.orchestrated import release_abandoned
from onceproof.errors import OnceproofError, RequestError
from onceproof.past.entry import Night
from onceproof.past.record import record_night
from onceproof.scenario import Scenario
from onceproof.scenario.catalogue import find_scenario, load_catalogue, with_tag

log = logging.getLogger(__name__)


def pick_runs(
    asked: Mapping[str, Any], night: str, began: datetime, runs: Path
) -> list[dict[str, Any]]:
    """Return what each run of a night is triggered with; what older nights left is released first.

    What the night was asked for is recorded in the verdict history. A seed is drawn from the date
    where none is given, so that each night has others, and a night that is run again has the same.
    """
    release_abandoned(runs)
    first = asked["first_seed"]
    if first is None:
        first = began.date().toordinal() * asked["seeds"]
    until = began + timedelta(minutes=asked["budget_minutes"])
    seeds = range(first, first + asked["seeds"])
    scenarios = scenarios_of(asked["tags"], asked["scenarios"])
    wanted = {scenario.name: list(seeds) for scenario in scenarios}
    try:
        record_night(Night(night, began.astimezone(UTC), wanted), runs)
    except OnceproofError as error:
        log.warning("what the night was asked for is not in the verdict history: %s", error)
    same = {"stack": asked["stack"], "subject": asked["subject"], "night": night}
    same["open"] = asked["open"]
    return [
        {
            "trigger_run_id": f"{night}__{scenario.name}__{seed}",
            "conf": {"scenario": scenario.address, "seed": seed, **same},
            "run_label": f"{scenario.name} {seed}",
            "until": until.isoformat(),
        }
        for scenario in scenarios
        for seed in seeds
    ]


def scenarios_of(tags: list[str], names: list[str]) -> list[Scenario]:
    """Return the scenarios with one of these tags, and those that are named."""
    catalogue = load_catalogue()
    tagged = {one.name for tag in tags for one in with_tag(tag, catalogue)}
    found = [one for one in catalogue if one.name in tagged]
    found += [one for one in map(find_scenario, names) if one not in found]
    if not found:
        raise RequestError(
            f"the night has no scenario: none has a tag of {tags}, and none was named; "
            "`onceproof list` shows them all"
        )
    return found
