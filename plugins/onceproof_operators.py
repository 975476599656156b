"""The tasks of Onceproof's DAGs: each calls one phase of a run, and decides nothing itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Asset, AssetAlias, BaseOperator, BaseOperatorLink
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from airflow.sdk.execution_time.xcom import XCom
from airflow.triggers.base import BaseTrigger, TriggerEvent

from onceproof.errors import OnceproofError
from onceproof.home import runs_folder
from onceproof.polling import comes_true
from onceproof.run import RunDirectory

RUN = "{{ ti.xcom_pull(task_ids='plan') }}"
VERDICTS = AssetAlias("onceproof-verdicts")
VERDICT = "verdict"
RUN_DAG = "onceproof_run"
_AGAIN = "__again"
_SOON_S = 10.0  # what ends so soon is not worth a deferral
# A task that is queued again before the scheduler has heard that its worker let it go is taken for
# killed, and fails: the scheduler hears of workers once a second.
_NOT_BEFORE_S = 3.0


def nothing_is_retried(error: OnceproofError) -> AirflowFailException:
    """Return what ends a task for good: what a phase has said will not be otherwise next time."""
    return AirflowFailException(str(error))


class PlanOperator(BaseOperator):
    """Plans a run and returns its directory; earlier runs of this DAG run are released before."""

    template_fields: Sequence[str] = ("scenario", "seed", "subject", "night")

    def __init__(
        self, *, scenario: str, seed: str, subject: str, night: str, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.scenario, self.seed, self.subject, self.night = scenario, seed, subject, night

    def execute(self, context: Any) -> str:
        """Plan, purely but for the run's directory."""
        from onceproof.phases.orchestrated import plan_run
        from onceproof.phases.plan import Origin

        origin = Origin(self.night, context["dag_run"].run_id)
        try:
            run = plan_run(self.scenario, int(self.seed), runs_folder(), self.subject, origin)
        except OnceproofError as error:
            raise nothing_is_retried(error) from error
        return str(run.root.absolute())


class PhaseOperator(BaseOperator):
    """Carries out a short phase of a run."""

    template_fields: Sequence[str] = ("directory", "options")

    def __init__(self, *, directory: str = RUN, options: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.directory, self.options = directory, options

    def execute(self, context: Any) -> None:  # noqa: ARG002
        """Carry it out here: the task's name is the phase's."""
        from onceproof.phases.orchestrated import carry_out

        try:
            carry_out(
                _directory(self.directory),
                self.task_id,
                *(Path(one) for one in self.options if one),
            )
        except OnceproofError as error:
            raise nothing_is_retried(error) from error


class LongPhaseOperator(BaseOperator):
    """Begins a long phase in a process of its own, and waits for its end without a worker."""

    template_fields: Sequence[str] = ("directory",)

    def __init__(
        self, *, directory: str = RUN, limit: timedelta = timedelta(hours=2), **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.directory, self.limit = directory, limit

    def execute(self, context: Any) -> Any:
        """Begin the phase, or find it begun; a task that was cleared does it again."""
        from onceproof.phases.orchestrated import begin, has_ended

        run = _directory(self.directory)
        try:
            begin(run, self.task_id, again=context["ti"].try_number > 1)
        except OnceproofError as error:
            raise nothing_is_retried(error) from error
        if comes_true(lambda: has_ended(run, self.task_id), _SOON_S):
            return self.end(context)
        waiting = PhaseTrigger(directory=self.directory, phase=self.task_id)
        return self.defer(trigger=waiting, method_name="end", timeout=self.limit)

    def end(self, context: Any, event: Any = None) -> Any:  # noqa: ARG002
        """Return what the phase has to show; evidence goes out before a failure does."""
        from onceproof.phases.orchestrated import outcome

        try:
            found = outcome(_directory(self.directory), self.task_id)
        except OnceproofError as error:
            context["ti"].xcom_push(key="failure", value=str(error))
            raise nothing_is_retried(error) from error
        return found


class PhaseTrigger(BaseTrigger):
    """Waits until a long phase of a run has ended."""

    def __init__(self, directory: str, phase: str, every_s: float = 0.3) -> None:
        super().__init__()
        self.directory, self.phase, self.every_s = directory, phase, every_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what makes this trigger anew."""
        path = f"{type(self).__module__}.{type(self).__name__}"
        return path, {"directory": self.directory, "phase": self.phase, "every_s": self.every_s}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look again and again, beside the triggerer's loop."""
        from onceproof.phases.orchestrated import has_ended

        run = _directory(self.directory)
        await asyncio.sleep(_NOT_BEFORE_S)
        while not await asyncio.to_thread(has_ended, run, self.phase):
            await asyncio.sleep(self.every_s)
        yield TriggerEvent(self.phase)


class ReportLink(BaseOperatorLink):
    """From a judged run to its report."""

    name = "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:  # noqa: ARG002
        """Return the report's address; empty before there is one."""
        found = XCom.get_value(key=VERDICT, ti_key=ti_key)
        return f"/onceproof/report/{found['name']}" if found else ""


class JudgeOperator(BaseOperator):
    """Judges a run, whatever failed before; the task is green where the verdict is as claimed."""

    template_fields: Sequence[str] = ("directory",)
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, directory: str = RUN, **kwargs: Any) -> None:
        super().__init__(**kwargs, outlets=[VERDICTS])
        self.directory = directory

    def execute(self, context: Any) -> dict[str, Any]:
        """Judge, tell, and fail where the verdict is not as claimed: that is never retried."""
        from onceproof.phases.orchestrated import judge_ended

        if self.directory == "None":
            raise AirflowFailException("no run was planned, so there is nothing to judge")
        verdict, told = judge_ended(_directory(self.directory))
        context["ti"].xcom_push(key=VERDICT, value=told)
        if verdict.exit_code:
            raise AirflowFailException(f"{told['verdict']}: {'; '.join(told['reasons'])}")
        asset = Asset(f"onceproof://verdict/{told['scenario']}")
        context["outlet_events"][VERDICTS].add(asset, extra=told)
        return told


class ReleaseOperator(PhaseOperator):
    """Takes back what a run made; the teardown of `plan`."""

    def execute(self, context: Any) -> None:  # noqa: ARG002
        """Release, and judge a run that nobody has judged."""
        from onceproof.phases.orchestrated import release_run

        release_run(_directory(self.directory))


class ScenarioOperator(TriggerDagRunOperator):
    """One run of a night: triggers `onceproof_run`, waits, and once more where nobody knows.

    Its DAG run has the same name whenever this is called, so none is triggered twice.
    """

    def __init__(self, *, until: str, shown: str, **kwargs: Any) -> None:
        waiting = {"wait_for_completion": True, "deferrable": True, "poke_interval": 1}
        super().__init__(trigger_dag_id=RUN_DAG, logical_date=None, **waiting, **kwargs)
        self.until, self.shown = until, shown

    template_fields: Sequence[str] = (*TriggerDagRunOperator.template_fields, "until")

    def execute(self, context: Any) -> None:
        """Trigger the run, or find it triggered; nothing is begun when the night's time is up."""
        from airflow.providers.standard.triggers.external_task import DagStateTrigger
        from airflow.sdk import timezone

        if timezone.utcnow() > timezone.parse(self.until):
            raise AirflowSkipException(f"the night's budget ended at {self.until}")
        if context["ti"].get_dr_count(dag_id=self.trigger_dag_id, run_ids=[self.trigger_run_id]):
            states = [*self.allowed_states, *self.failed_states]
            found = DagStateTrigger(
                self.trigger_dag_id, states, run_ids=[self.trigger_run_id], poll_interval=1
            )
            self.defer(trigger=found, method_name="execute_complete")
        super().execute(context)

    def execute_complete(self, context: Any, event: Any) -> dict[str, Any]:
        """Return the run's verdict, or fail with it; UNKNOWN is run once more under a new name."""
        ((run_id),) = event[1]["run_ids"]
        told = context["ti"].xcom_pull(
            dag_id=self.trigger_dag_id, run_id=run_id, task_ids="judge", key=VERDICT
        )
        if told and told["as_claimed"]:
            return dict(told)
        if (not told or told["verdict"] == "UNKNOWN") and not run_id.endswith(_AGAIN):
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
        found = [_told(ti, one["trigger_run_id"]) for one in picked]
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
        from onceproof.gate.asking import ask
        from onceproof.gate.formats import to_document, to_text

        try:
            decision = ask(Path(self.policy), self.version, runs_folder())
        except OnceproofError as error:
            raise nothing_is_retried(error) from error
        self.log.info("%s", to_text(decision))
        return to_document(decision)


def _is_released(told: dict[str, Any]) -> bool:
    return _directory(told["run"]).released.exists()


def _told(ti: Any, run_id: str) -> dict[str, Any]:
    """Return what the judge told of a run, or of its second try."""
    for name in (run_id + _AGAIN, run_id):
        told = ti.xcom_pull(dag_id=RUN_DAG, run_id=name, task_ids="judge", key=VERDICT)
        if told:
            return dict(told)
    return {"run": run_id, "verdict": "not run", "as_claimed": False}


def night_is_over_time(minutes: int, **kwargs: Any) -> None:  # noqa: ARG001  Airflow's context
    """Tell that a night is longer than its budget, which then begins no run any more."""
    logging.getLogger(__name__).error("the night is longer than its %d minutes", minutes)


def _directory(run: str) -> RunDirectory:
    return RunDirectory(Path(run))
