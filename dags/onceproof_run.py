"""`onceproof_run`: one run of a scenario with a seed, from its plan to its verdict."""

from __future__ import annotations

import os

from airflow.sdk import DAG, Param, TriggerRule

from onceproof.airflow.operators import (
    JudgeOperator,
    LongPhaseOperator,
    PhaseOperator,
    PlanOperator,
    ReleaseOperator,
    ValidateOperator,
)
from onceproof.scenario.catalogue import load_catalogue

PARAMS = {
    "scenario": Param(
        "copy_events__two_phase_table__kill_driver",
        type="string",
        minLength=1,
        examples=[one.name for one in load_catalogue()],
        description="A scenario of the catalogue, or the path of a scenario file.",
    ),
    "seed": Param(
        0,
        type="integer",
        minimum=0,
        maximum=2**32 - 1,
        description="The source of every random choice; the same seed repeats the run.",
    ),
    "subject": Param(
        "",
        type="string",
        description="The version under test. Empty: the git commit of the job's repository.",
    ),
    "stack": Param(
        os.environ.get("ONCEPROOF_STACK_HOME", ""),
        type="string",
        description="The folder of a running stack. Empty: that of `onceproof up`, else a new one "
        "for this run.",
    ),
    "night": Param(
        "",
        type="string",
        description="The night that the run belongs to; set by onceproof_nightly.",
    ),
    "open": Param(
        False,
        type="boolean",
        description="Let other users of the machine read the run's directory.",
    ),
}

with DAG(
    "onceproof_run",
    description="Injects faults into one pipeline, lets it recover, and checks its output rows.",
    schedule=None,
    params=PARAMS,
    max_active_runs=int(os.environ.get("ONCEPROOF_AT_ONCE", "1")),
    default_args={"retries": 0},
    tags=["onceproof"],
    doc_md=__doc__,
) as dag:
    plan = PlanOperator(
        task_id="plan",
        scenario="{{ params.scenario }}",
        seed="{{ params.seed }}",
        subject="{{ params.subject }}",
        night="{{ params.night }}",
        is_open="{{ params.open }}",
    )
    prepare = PhaseOperator(task_id="prepare", options=["{{ params.stack }}"])
    work = [LongPhaseOperator(task_id=name) for name in ("produce", "process", "disturb")]
    observe = PhaseOperator(task_id="observe")
    recompute = LongPhaseOperator(task_id="recompute")
    compare = PhaseOperator(task_id="compare")
    validate = ValidateOperator(task_id="validate")
    judge = JudgeOperator(task_id="judge", trigger_rule=TriggerRule.ALL_DONE)
    release = ReleaseOperator(task_id="release")

    plan >> prepare >> work >> observe >> recompute >> compare >> validate >> judge >> release
    plan.as_setup() >> release.as_teardown(on_failure_fail_dagrun=True)
