"""The tasks of a night and of the gate: runs triggered one by one, their verdicts summed up."""

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
_AGAIN = "__again"


class ScenarioOperator(TriggerDagRunOperator):
    """One run of a night: triggers `onceproof_run`, waits, and once more where nobody knows.

    Its DAG run has the same name whenever this is called, so none is triggered twice.
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
        """Trigger the run, or find it triggered; nothing is begun when the night's time is up."""
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
        """Return the run's verdict, or fail with it; UNKNOWN is run once more under a new name."""
        from onceproof.airflow.run_summary import is_decided

        ((run_id),) = event[1]["run_ids"]
        told = _told(context["ti"], run_id)
        if told and told["as_claimed"]:
            return told
        if not is_decided(told) and not run_id.endswith(_AGAIN):
            self.trigger_run_id = run_id + _AGAIN
            super().execute(context)
        reasons = "; ".join(told["reasons"]) if told else "its DAG run ended without a verdict"
        raise AirflowFailException(f"{run_id}: {reasons}")


class NightOperator(BaseOperator):
    """Shows the verdicts of a night; red where one is not as claimed, or a run has none."""

    def execute(self, context: Any) -> list[dict[str, Any]]:
        """Print a line for each run, return them, and fail where one is red."""
        ti = context["ti"]
        picked = ti.xcom_pull(task_ids="pick") or []
        found = [_that_counts(ti, one["trigger_run_id"]) for one in picked]
        for told in found:
            self.log.info("%-8s %s", told["verdict"], told["run"])
        ti.xcom_push(key=VERDICT, value=found)
        unreleased = [told["run"] for told in found if "name" in told and not _is_released(told)]
        if unreleased:
            raise AirflowFailException(f"not all was taken back of {unreleased}")
        if red := [told["run"] for told in found if not told["as_claimed"]]:
            raise AirflowFailException(f"{len(red)} of {len(found)} are not as claimed: {red}")
        if not found:
            raise AirflowFailException("the night had no run, so it says nothing")
        return found


class GateOperator(BaseOperator):
    """Asks the gate for a version and shows its reasons; what follows from it, others do."""

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


def _is_released(told: dict[str, Any]) -> bool:
    return RunDirectory(Path(told["run"])).released.exists()


def _that_counts(ti: Any, run_id: str) -> dict[str, Any]:
    """Return what is told of a run, or of its second try where the first decided nothing."""
    from onceproof.airflow.run_summary import deciding_summary

    told = deciding_summary(_told(ti, run_id), _told(ti, run_id + _AGAIN))
    return dict(told or {"run": run_id, "verdict": "not run", "as_claimed": False})


def _told(ti: Any, run_id: str) -> dict[str, Any] | None:
    """Return what the judge told of a run, or its directory where the judge was ended before."""
    from onceproof.airflow.run_summary import summary_of

    pulled = {"dag_id": RUN_DAG, "run_id": run_id}
    if told := ti.xcom_pull(**pulled, task_ids="judge", key=VERDICT):
        return dict(told)
    directory = ti.xcom_pull(**pulled, task_ids="plan")
    return summary_of(RunDirectory(Path(directory))) if directory else None


def warn_night_over_budget(minutes: int, **kwargs: Any) -> None:  # noqa: ARG001  Airflow's context
    """Tell that a night is longer than its budget, which then begins no run any more."""
    logging.getLogger(__name__).error("the night is longer than its %d minutes", minutes)
