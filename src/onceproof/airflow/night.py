"""The selection of a night's runs."""

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
    params: Mapping[str, Any], night: str, began: datetime, runs: Path
) -> list[dict[str, Any]]:
    """Return the arguments that trigger each run of a night; release abandoned runs first.

    The night's scenarios and seeds are recorded in the verdict history. Without a given seed, seeds
    are derived from the date: each night has different ones, and a repeated night the same.
    """
    release_abandoned(runs)
    first = params["first_seed"]
    if first is None:
        first = began.date().toordinal() * params["seeds"]
    until = began + timedelta(minutes=params["budget_minutes"])
    seeds = range(first, first + params["seeds"])
    scenarios = scenarios_of(params["tags"], params["scenarios"])
    wanted = {scenario.name: list(seeds) for scenario in scenarios}
    try:
        record_night(Night(night, began.astimezone(UTC), wanted), runs)
    except OnceproofError as error:
        log.warning("the night's scenarios and seeds are not in the verdict history: %s", error)
    same = {"stack": params["stack"], "subject": params["subject"], "night": night}
    same["open"] = params["open"]
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
    """Return the scenarios with one of these tags, then the named ones."""
    catalogue = load_catalogue()
    tagged = {one.name for tag in tags for one in with_tag(tag, catalogue)}
    found = [one for one in catalogue if one.name in tagged]
    found += [one for one in map(find_scenario, names) if one not in found]
    if not found:
        raise RequestError(
            f"the night has no scenario: none has one of the tags {tags}, and none is named; "
            "choose from `onceproof list`"
        )
    return found
