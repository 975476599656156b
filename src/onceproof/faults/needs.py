"""Requirements on a scenario that several mechanisms share."""

from __future__ import annotations

from onceproof.failpoints import HALTS, SEEN, TASK
from onceproof.faults import TARGET, WHEN, Need, Setting
from onceproof.faults.busy import EXECUTOR, WORKER

_OF_KAFKA = ("broker:coordinator", "transaction")


def _never_at_the_step(one: Setting) -> str:
    sink, step = one.sink, one.step
    if not sink or step not in HALTS or step in sink.steps:
        return ""
    steps = ", ".join((*SEEN, *sink.steps))
    hint = "" if sink.steps else ", or do: lose, target: commit to strike after a batch's effect"
    return f"no batch of {sink.__name__} reaches {step}; use one of {steps}{hint}"


def _no_transactions(one: Setting) -> str:
    if one.target in _OF_KAFKA and one.sink and one.sink.store != "kafka":
        return f"{one.sink.__name__} has no Kafka transactions; use another target"
    return ""


def _outside_of_transactions(one: Setting) -> str:
    if (
        one.target in _OF_KAFKA
        and one.sink
        and (one.sink.store, one.sink.family) == ("kafka", "append")
    ):
        use = "use another target, or the sink two_phase_topic"
        return f"{one.sink.__name__} writes records without a transaction; {use}"
    return ""


def _no_task_waits(one: Setting) -> str:
    if one.target != "task" or one.step in TASK:
        return ""
    return f"a task is struck at a step of a task; use one of {', '.join(TASK)}"


def _no_task_runs(one: Setting) -> str:
    if one.step not in HALTS or one.step in TASK:
        return ""
    if one.target == "executor":
        return f"the driver waits at {one.step}, not an executor; use executor:any, or another step"
    if one.target in (EXECUTOR, WORKER):
        steps = ", ".join(TASK)
        return f"no task runs while the driver waits at {one.step}; use a batch, or one of {steps}"
    return ""


def _no_driver_waits(one: Setting) -> str:
    if one.target != "driver" or (one.step in HALTS and one.step not in TASK):
        return ""
    return _needs_failpoint(one)


def _no_process_waits(one: Setting) -> str:
    return "" if one.step in HALTS else _needs_failpoint(one)


def _needs_failpoint(one: Setting) -> str:
    return f"{one.verb} needs a {one.target} that waits; use a failpoint that it reaches"


STEP_OF_SINK = Need(WHEN, _never_at_the_step)  # a requirement of every fault
TRANSACTIONS = (Need(WHEN, _no_transactions), Need(TARGET, _outside_of_transactions))
WAITING = Need(WHEN, _no_process_waits)
WAITING_TASK = Need(WHEN, _no_task_waits)
WAITING_DRIVER = Need(WHEN, _no_driver_waits)
RUNNING_TASK = Need(WHEN, _no_task_runs)
