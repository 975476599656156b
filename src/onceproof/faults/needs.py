"""What several mechanisms need of a scenario."""

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
    hint = "" if sink.steps else "; after a batch's effect, write do: lose, target: commit"
    return f"no batch of {sink.__name__} comes to {step}: write one of {steps}{hint}"


def _no_transactions(one: Setting) -> str:
    if one.target in _OF_KAFKA and one.sink and one.sink.store != "kafka":
        name = one.sink.__name__
        return f"{name} has no transactions that brokers coordinate: write another target"
    return ""


def _outside_of_transactions(one: Setting) -> str:
    if (
        one.target in _OF_KAFKA
        and one.sink
        and (one.sink.store, one.sink.family) == ("kafka", "append")
    ):
        said = f"{one.sink.__name__} adds records outside of any transaction: write another target"
        return f"{said}, or the sink two_phase_topic"
    return ""


def _no_task_waits(one: Setting) -> str:
    if one.target != "task" or one.step in TASK:
        return ""
    return f"a task is struck at a step of its own: write one of {', '.join(TASK)}"


def _no_task_runs(one: Setting) -> str:
    """Say why no task runs, or waits, when a fault that needs one strikes."""
    if one.step not in HALTS or one.step in TASK:
        return ""
    if one.target == "executor":
        return (
            f"the driver waits at {one.step}, and no executor: write executor:any, or another step"
        )
    if one.target in (EXECUTOR, WORKER):
        steps = ", ".join(TASK)
        return (
            f"no task runs while the driver waits at {one.step}: write a batch, or one of {steps}"
        )
    return ""


def _no_driver_waits(one: Setting) -> str:
    if one.target != "driver" or (one.step in HALTS and one.step not in TASK):
        return ""
    return _waits_not(one)


def _nobody_waits(one: Setting) -> str:
    return "" if one.step in HALTS else _waits_not(one)


def _waits_not(one: Setting) -> str:
    return f"{one.verb} is done to a {one.target} that waits: write a failpoint that it comes to"


STEP_OF_SINK = Need(WHEN, _never_at_the_step)  # of every fault
TRANSACTIONS = (Need(WHEN, _no_transactions), Need(TARGET, _outside_of_transactions))
WAITING = Need(WHEN, _nobody_waits)
WAITING_TASK = Need(WHEN, _no_task_waits)
WAITING_DRIVER = Need(WHEN, _no_driver_waits)
RUNNING_TASK = Need(WHEN, _no_task_runs)
