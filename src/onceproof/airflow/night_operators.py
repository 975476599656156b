"""Operators of the night and gate DAGs: they trigger runs one by one and sum up their verdicts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from onceproof.airflow.operators import VERDICT, final_failure
from onceproof.errors import OnceproofError
from onceproof.machine.home import runs_folder
from onceproof.runs.directory import RunDirectory

RUN_DAG = "onceproof_run"
_RETRY = "__again"  # the suffix of a retry's DAG run id


class ScenarioOperator(TriggerDagRunOperator):
    """A run of a night: triggers `onceproof_run`, waits, and retries once if it is undecided.

    Every call uses the same DAG run id, so no run is triggered twice.
    """

    def __init__(self, *, until: str, run_label: str, **kwargs: Any) -> None:
        super().__init__(
            trigger_dag_id=RUN_DAG,
            logical_date=None,
            wait_for_completion=True,
            deferrable=True,
            poke_interval=1,
            **kwargs,
        )
        self.until, self.run_label = until, run_label

    template_fields: Sequence[str] = (*TriggerDagRunOperator.template_fields, "until")

    def execute(self, context: Any) -> None:
        """Trigger the run, or wait for one already triggered; skip it after the night's budget."""
        from airflow.providers.standard.triggers.external_task import DagStateTrigger
        from airflow.sdk import timezone

        if timezone.utcnow() > timezone.parse(self.until):
            raise AirflowSkipException(f"the night's budget ended at {self.until}")
        run_ids: list[Any] = [self.trigger_run_id]
        if context["ti"].get_dr_count(dag_id=self.trigger_dag_id, run_ids=run_ids):
            states = [*self.allowed_states, *self.failed_states]
            found = DagStateTrigger(self.trigger_dag_id, states, run_ids=run_ids, poll_interval=1)
            self.defer(trigger=found, method_name="execute_complete")
        super().execute(context)

    def execute_complete(self, context: Any, event: Any) -> dict[str, Any]:
        """Return the run's summary, or fail with it; an undecided run is retried under a new id."""
        from onceproof.airflow.run_summary import is_decided

        ((run_id),) = event[1]["run_ids"]
        summary = _summary_of(context["ti"], run_id)
        if summary and summary["as_claimed"]:
            return summary
        if not is_decided(summary) and not run_id.endswith(_RETRY):
            self.trigger_run_id = run_id + _RETRY
            super().execute(context)
        reasons = "; ".join(summary["reasons"]) if summary else "the DAG run has no verdict"
        raise AirflowFailException(f"{run_id}: {reasons}")


class NightOperator(BaseOperator):
    """The summary of a night's verdicts; it fails if one is not as claimed, or a run has none."""

    def execute(self, context: Any) -> list[dict[str, Any]]:
        """Log a line for each run, return their summaries, and fail if one is not as claimed."""
        ti = context["ti"]
        picked = ti.xcom_pull(task_ids="pick") or []
        found = [_deciding_summary(ti, one["trigger_run_id"]) for one in picked]
        for one in found:
            self.log.info("%-8s %s", one["verdict"], one["run"])
        ti.xcom_push(key=VERDICT, value=found)
        unreleased = [one["run"] for one in found if "name" in one and not _is_released(one)]
        if unreleased:
            raise AirflowFailException(f"runs not fully released: {unreleased}")
        if red := [one["run"] for one in found if not one["as_claimed"]]:
            raise AirflowFailException(f"{len(red)} of {len(found)} runs not as claimed: {red}")
        if not found:
            raise AirflowFailException("the night had no runs, so it proves nothing")
        return found


class GateOperator(BaseOperator):
    """Gate decision for a version, with its reasons; later tasks act on it."""

    template_fields: Sequence[str] = ("policy", "version")

    def __init__(self, *, policy: str, version: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.policy, self.version = policy, version

    def execute(self, context: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return the decision as a document."""
        from onceproof.gates.ask import ask
        from onceproof.gates.formats import to_document, to_text
        from onceproof.web.gates import policy_of

        policy = Path(self.policy) if self.policy else policy_of(runs_folder())
        try:
            decision = ask(policy, self.version, runs_folder())
        except OnceproofError as error:
            raise final_failure(error) from error
        self.log.info("%s", to_text(decision))
        return to_document(decision)


def _is_released(summary: dict[str, Any]) -> bool:
    return RunDirectory(Path(summary["run"])).released.exists()


def _deciding_summary(ti: Any, run_id: str) -> dict[str, Any]:
    from onceproof.airflow.run_summary import deciding_summary

    summary = deciding_summary(_summary_of(ti, run_id), _summary_of(ti, run_id + _RETRY))
    return dict(summary or {"run": run_id, "verdict": "not run", "as_claimed": False})


def _summary_of(ti: Any, run_id: str) -> dict[str, Any] | None:
    """Return the judge's XCom, or the run directory's summary if the judge task was killed."""
    from onceproof.airflow.run_summary import summary_of

    pulled = {"dag_id": RUN_DAG, "run_id": run_id}
    if summary := ti.xcom_pull(**pulled, task_ids="judge", key=VERDICT):
        return dict(summary)
    directory = ti.xcom_pull(**pulled, task_ids="plan")
    return summary_of(RunDirectory(Path(directory))) if directory else None


def warn_night_over_budget(minutes: int, **kwargs: Any) -> None:  # noqa: ARG001  Airflow's context
    """Log that a night has exceeded its budget; it starts no further runs."""
    logging.getLogger(__name__).error("the night exceeded its budget of %d minutes", minutes)
