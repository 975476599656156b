"""`onceproof_nightly`: a nightly run of the catalogue, one `onceproof_run` for each scenario."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import (
    DAG,
    DeadlineAlert,
    DeadlineReference,
    Param,
    SyncCallback,
    TriggerRule,
    task,
)

from onceproof.airflow.night_operators import (
    NightOperator,
    ScenarioOperator,
    warn_night_over_budget,
)
from onceproof.scenario.catalogue import load_catalogue

BUDGET_MINUTES = int(os.environ.get("ONCEPROOF_BUDGET_MINUTES", "240"))
AT_ONCE = int(os.environ.get("ONCEPROOF_AT_ONCE", "1"))
TAGS = sorted({tag for one in load_catalogue() for tag in one.tags})


def listed(name: str, default: str = "") -> list[str]:
    """Return the words of an environment variable, which commas separate."""
    words = os.environ.get(name, default).split(",")
    return [word.strip() for word in words if word.strip()]


PARAMS = {
    "tags": Param(
        listed("ONCEPROOF_TAGS", "nightly"),
        type="array",
        items={"type": "string", "enum": TAGS},
        description="Scenarios with any of these tags.",
    ),
    "scenarios": Param(
        listed("ONCEPROOF_SCENARIOS"),
        type="array",
        items={"type": "string"},
        description="Additional scenarios, by name or by file.",
    ),
    "seeds": Param(
        1, type="integer", minimum=1, maximum=100, description="Number of seeds for each scenario."
    ),
    "first_seed": Param(
        None,
        type=["integer", "null"],
        minimum=0,
        maximum=2**31,
        description="The first seed. Empty: from the date, so that each night has different seeds.",
    ),
    "stack": Param(
        os.environ.get("ONCEPROOF_STACK_HOME", ""),
        type="string",
        description="The folder of a running stack. Empty: that of `onceproof up`, else a new one "
        "for each run.",
    ),
    "subject": Param(
        "",
        type="string",
        description="The version under test. Empty: the git commit of the job's repository.",
    ),
    "open": Param(
        False,
        type="boolean",
        description="Let other users of the machine read the runs' directories.",
    ),
    "budget_minutes": Param(
        BUDGET_MINUTES,
        type="integer",
        minimum=1,
        description="No run starts after this many minutes.",
    ),
}

with DAG(
    "onceproof_nightly",
    description="Runs scenarios of the catalogue, one after another, and shows their verdicts.",
    schedule=os.environ.get("ONCEPROOF_SCHEDULE", "0 2 * * *") or None,
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001  in Airflow's own time zone
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    default_args={"retries": 0},
    deadline=DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=timedelta(minutes=BUDGET_MINUTES),
        callback=SyncCallback(warn_night_over_budget, kwargs={"minutes": BUDGET_MINUTES}),
    ),
    tags=["onceproof"],
    doc_md=__doc__,
) as dag:

    @task
    def pick(params: dict[str, Any], dag_run: Any) -> list[dict[str, Any]]:
        """Return the arguments that trigger each run of the night."""
        from onceproof.airflow.night import pick_runs
        from onceproof.machine.home import runs_folder

        return pick_runs(params, dag_run.run_id, dag_run.start_date, runs_folder())

    summary = NightOperator(task_id="summary", trigger_rule=TriggerRule.ALL_DONE)
    runs = ScenarioOperator.partial(
        task_id="run",
        map_index_template="{{ task.run_label }}",
        max_active_tis_per_dagrun=AT_ONCE,
    ).expand_kwargs(pick())
    runs >> summary
