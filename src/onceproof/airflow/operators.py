"""Operators of `onceproof_run`: each calls one phase of a run and contains no logic of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from airflow.sdk import Asset, AssetAlias, BaseOperator, BaseOperatorLink
from airflow.sdk.exceptions import AirflowFailException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from onceproof.documents import read_object
from onceproof.errors import OnceproofError
from onceproof.machine.home import runs_folder
from onceproof.machine.polling import comes_true, wait_in_event_loop
from onceproof.runs.directory import RunDirectory

RUN = "{{ ti.xcom_pull(task_ids='plan') }}"
VERDICTS = AssetAlias("onceproof-verdicts")
VERDICT = "verdict"
_SOON_S = 10.0  # a phase that ends so soon is not worth a deferral
# The scheduler reads workers' reports once a second. It fails a deferred task as killed if the task
# is queued again before the scheduler has read that its worker released it.
_NOT_BEFORE_S = 3.0
_EVERY_S = 0.3


def final_failure(error: OnceproofError) -> AirflowFailException:
    """Return an exception that fails the task without retries: a repeated phase fails the same."""
    return AirflowFailException(str(error))


class PlanOperator(BaseOperator):
    """The task `plan`; it releases earlier runs of this DAG run and returns the new directory."""

    template_fields: Sequence[str] = ("scenario", "seed", "subject", "night", "is_open")

    def __init__(
        self, *, scenario: str, seed: str, subject: str, night: str, is_open: str, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.scenario, self.seed, self.subject, self.night = scenario, seed, subject, night
        self.is_open = is_open

    def execute(self, context: Any) -> str:
        """Plan the run; the only side effects are its directory and that release."""
        from onceproof.airflow.orchestrated import plan_run
        from onceproof.phases.plan import Origin

        origin = Origin(self.night, context["dag_run"].run_id)
        try:
            run = plan_run(
                self.scenario,
                int(self.seed),
                runs_folder(),
                self.subject,
                origin,
                is_open=str(self.is_open) == "True",
            )
        except OnceproofError as error:
            raise final_failure(error) from error
        return str(run.root.absolute())


class ReportLink(BaseOperatorLink):
    """A link from a task to its run's report; it works once the run is judged."""

    name = "Report"
    place = ""

    def get_link(self, operator: Any, *, ti_key: Any) -> str:  # noqa: ARG002
        """Return the report's path; empty if no run was planned."""
        plan = _directory(operator.directory).plan
        return f"/onceproof/report/{read_object(plan)['run']}{self.place}" if plan.exists() else ""


class ExpectationsLink(ReportLink):
    """A link from `validate` to the report's section on expectations."""

    name = "Expectations"
    place = "#expectations"


class PhaseOperator(BaseOperator):
    """A short phase of a run, carried out by the task itself."""

    template_fields: Sequence[str] = ("directory", "options")

    def __init__(self, *, directory: str = RUN, options: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.directory, self.options = directory, options

    def execute(self, context: Any) -> None:  # noqa: ARG002
        """Carry out the phase with the task's name."""
        from onceproof.airflow.orchestrated import carry_out

        try:
            carry_out(
                _directory(self.directory),
                self.task_id,
                *(Path(one) for one in self.options if one),
            )
        except OnceproofError as error:
            raise final_failure(error) from error


class LongPhaseOperator(BaseOperator):
    """A long phase in a process of its own; the task is deferred and holds no worker."""

    template_fields: Sequence[str] = ("directory",)

    def __init__(self, *, directory: str = RUN, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.directory = directory

    def execute(self, context: Any) -> Any:
        """Start the phase unless it already runs or is done; a cleared task repeats it."""
        from onceproof.airflow.orchestrated import PhaseWatch, begin, longest

        run = _directory(self.directory)
        try:
            begin(run, self.task_id, is_repeat=context["ti"].try_number > 1)
        except OnceproofError as error:
            raise final_failure(error) from error
        if comes_true(PhaseWatch(run, self.task_id).has_ended, _SOON_S):
            return self.end(context)
        waiting = PhaseTrigger(self.directory, self.task_id)
        return self.defer(trigger=waiting, method_name="end", timeout=longest(run))

    def end(self, context: Any, event: Any = None) -> Any:  # noqa: ARG002
        """Return the phase's outcome; on failure push the reason as an XCom, then fail."""
        from onceproof.airflow.orchestrated import outcome

        try:
            found = outcome(_directory(self.directory), self.task_id)
        except OnceproofError as error:
            context["ti"].xcom_push(key="failure", value=str(error))
            raise final_failure(error) from error
        return found


class ValidateOperator(LongPhaseOperator):
    """The phase `validate`, with a link to its results."""

    operator_extra_links = (ExpectationsLink(),)


class PhaseTrigger(BaseTrigger):
    """A trigger that fires when a long phase of a run has ended."""

    def __init__(self, directory: str, phase: str) -> None:
        super().__init__()
        self.directory, self.phase = directory, phase

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the arguments from which Airflow recreates this trigger."""
        path = f"{type(self).__module__}.{type(self).__name__}"
        return path, {"directory": self.directory, "phase": self.phase}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll for the phase's end without blocking the triggerer's event loop."""
        from onceproof.airflow.orchestrated import PhaseWatch

        watch = PhaseWatch(_directory(self.directory), self.phase)
        await wait_in_event_loop(watch.has_ended, _EVERY_S, not_before_s=_NOT_BEFORE_S)
        yield TriggerEvent(self.phase)


class JudgeOperator(BaseOperator):
    """The task `judge`; it runs after any failure, and succeeds if the verdict is as claimed."""

    template_fields: Sequence[str] = ("directory",)
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, directory: str = RUN, **kwargs: Any) -> None:
        super().__init__(**kwargs, outlets=[VERDICTS])
        self.directory = directory

    def execute(self, context: Any) -> dict[str, Any]:
        """Judge the run, push its summary, and fail without retries if it is not as claimed."""
        from onceproof.airflow.orchestrated import judge_ended

        if self.directory == "None":
            raise AirflowFailException("no run was planned, so there is nothing to judge")
        verdict, summary = judge_ended(_directory(self.directory))
        context["ti"].xcom_push(key=VERDICT, value=summary)
        if verdict.exit_code:
            raise AirflowFailException(f"{summary['verdict']}: {'; '.join(summary['reasons'])}")
        asset = Asset(f"onceproof://verdict/{summary['scenario']}")
        context["outlet_events"][VERDICTS].add(asset, extra=summary)
        return summary


class ReleaseOperator(PhaseOperator):
    """The task `release`, the teardown of `plan`: it removes a run's topics, tables and stack."""

    def execute(self, context: Any) -> None:  # noqa: ARG002
        """Release the run; if it was not judged, judge it, and fail unless it is as claimed."""
        from onceproof.airflow.orchestrated import release_run

        verdict = release_run(_directory(self.directory))
        if verdict and verdict.exit_code:
            raise AirflowFailException(f"the run was judged only at its release: {verdict.grade}")


def _directory(run: str) -> RunDirectory:
    return RunDirectory(Path(run))
