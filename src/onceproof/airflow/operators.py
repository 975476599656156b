"""The tasks of Onceproof's DAGs: each calls one phase of a run, and decides nothing itself."""

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
_SOON_S = 10.0  # what ends so soon is not worth a deferral
# A task that is queued again before the scheduler has heard that its worker let it go is taken for
# killed, and fails: the scheduler hears of workers once a second.
_NOT_BEFORE_S = 3.0
_EVERY_S = 0.3


def final_failure(error: OnceproofError) -> AirflowFailException:
    """Return what ends a task for good: what a phase has said will not be otherwise next time."""
    return AirflowFailException(str(error))


class PlanOperator(BaseOperator):
    """Plans a run and returns its directory; earlier runs of this DAG run are released before."""

    template_fields: Sequence[str] = ("scenario", "seed", "subject", "night", "is_open")

    def __init__(
        self, *, scenario: str, seed: str, subject: str, night: str, is_open: str, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.scenario, self.seed, self.subject, self.night = scenario, seed, subject, night
        self.is_open = is_open

    def execute(self, context: Any) -> str:
        """Plan, purely but for the run's directory."""
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
    """From a task to the report of its run, once that is judged."""

    name = "Report"
    place = ""

    def get_link(self, operator: Any, *, ti_key: Any) -> str:  # noqa: ARG002
        """Return the report's address; empty where no run was planned."""
        plan = _directory(operator.directory).plan
        return f"/onceproof/report/{read_object(plan)['run']}{self.place}" if plan.exists() else ""


class ExpectationsLink(ReportLink):
    """From `validate` to what the report says of its expectations."""

    name = "Expectations"
    place = "#expectations"


class PhaseOperator(BaseOperator):
    """Carries out a short phase of a run."""

    template_fields: Sequence[str] = ("directory", "options")

    def __init__(self, *, directory: str = RUN, options: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.directory, self.options = directory, options

    def execute(self, context: Any) -> None:  # noqa: ARG002
        """Carry it out here: the task's name is the phase's."""
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
    """Begins a long phase in a process of its own, and waits for its end without a worker."""

    template_fields: Sequence[str] = ("directory",)

    def __init__(self, *, directory: str = RUN, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.directory = directory

    def execute(self, context: Any) -> Any:
        """Begin the phase, or find it begun; a task that was cleared does it again."""
        from onceproof.airflow.orchestrated import PhaseWatch, begin, longest

        run = _directory(self.directory)
        try:
            begin(run, self.task_id, again=context["ti"].try_number > 1)
        except OnceproofError as error:
            raise final_failure(error) from error
        if comes_true(PhaseWatch(run, self.task_id).has_ended, _SOON_S):
            return self.end(context)
        waiting = PhaseTrigger(self.directory, self.task_id)
        return self.defer(trigger=waiting, method_name="end", timeout=longest(run))

    def end(self, context: Any, event: Any = None) -> Any:  # noqa: ARG002
        """Return what the phase has to show; evidence goes out before a failure does."""
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
    """Waits until a long phase of a run has ended."""

    def __init__(self, directory: str, phase: str) -> None:
        super().__init__()
        self.directory, self.phase = directory, phase

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what makes this trigger anew."""
        path = f"{type(self).__module__}.{type(self).__name__}"
        return path, {"directory": self.directory, "phase": self.phase}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look again and again, beside the triggerer's loop."""
        from onceproof.airflow.orchestrated import PhaseWatch

        watch = PhaseWatch(_directory(self.directory), self.phase)
        await wait_in_event_loop(watch.has_ended, _EVERY_S, not_before_s=_NOT_BEFORE_S)
        yield TriggerEvent(self.phase)


class JudgeOperator(BaseOperator):
    """Judges a run, whatever failed before; the task is green where the verdict is as claimed."""

    template_fields: Sequence[str] = ("directory",)
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, directory: str = RUN, **kwargs: Any) -> None:
        super().__init__(**kwargs, outlets=[VERDICTS])
        self.directory = directory

    def execute(self, context: Any) -> dict[str, Any]:
        """Judge, tell, and fail where the verdict is not as claimed: that is never retried."""
        from onceproof.airflow.orchestrated import judge_ended

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
        """Release, and judge a run that nobody has judged: it is green as little as its verdict."""
        from onceproof.airflow.orchestrated import release_run

        verdict = release_run(_directory(self.directory))
        if verdict and verdict.exit_code:
            raise AirflowFailException(f"judged only when it was released: {verdict.grade}")


def _directory(run: str) -> RunDirectory:
    return RunDirectory(Path(run))
