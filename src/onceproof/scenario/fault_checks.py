"""What must agree between the faults of a scenario and the rest of it."""

from __future__ import annotations

import re
from collections import Counter

from onceproof import failpoints
from onceproof.checkpoint.damage_kinds import CHECKPOINT
from onceproof.faults.busy import WORKER
from onceproof.faults.kill_executor import BUSY
from onceproof.references import Reference
from onceproof.run.work import FAILED, OVER
from onceproof.scenario.crosschecks import skips_lost_input
from onceproof.scenario.draft import Draft
from onceproof.scenario.how import check_mechanism
from onceproof.scenario.targets import find_target
from onceproof.sinks import Sink
from onceproof.sinks.outputs import is_elsewhere

_ENDS_AN_ATTEMPT = ("damage", "lose", "rescale")
_OF_WHO_WAITS = {("raise", "driver"), ("start", "driver"), ("hijack", "transaction")}
_STATE = f"{CHECKPOINT}state_"
_OF_KAFKA = ("broker:coordinator", "transaction")


def check_faults(draft: Draft, sink: type[Sink] | None, reference: Reference | None) -> None:
    """Each fault has a name of its own, can be done, and has a moment that comes."""
    if not draft.has("faults", "workload"):
        return
    names = draft.fault_names()
    partitions = draft.values["workload"]["partitions"]
    for number, fault in enumerate(draft.values["faults"]):
        verb, target, when = (fault[name] for name in ("do", "target", "when"))
        check_mechanism(draft, number, fault)
        if said := _without_effect(draft, verb, target, sink, reference):
            draft.refuse(said, "faults", number, "target")
        if said := misplaced(verb, target, when.get("failpoint"), sink):
            draft.refuse(said, "faults", number, "when")
        partition = (find_target(target) or ("", None))[1]
        if partition is not None and partition >= partitions:
            said = f"{target!r}: the input has the partitions 0 to {partitions - 1}: write one"
            draft.refuse(said, "faults", number, "target")
        if "visible" in when and sink and sink.atomic_batches:
            said = f"readers of {draft.sink_name} see a batch whole or not at all"
            draft.refuse(f"{said}: write a failpoint or a batch", "faults", number, "when")
        if Counter(names)[names[number]] > 1:
            said = f"two faults are called {names[number]!r}: give each its own name"
            draft.refuse(said, "faults", number, "name")


def misplaced(verb: str, target: str, step: str | None, sink: type[Sink] | None) -> str:
    """Say why a fault's moment is none for what it does; empty if it is one."""
    in_task = step in failpoints.TASK
    if sink and step in failpoints.HALTS and step not in sink.steps:
        steps = ", ".join((*failpoints.SEEN, *sink.steps))
        hint = "" if sink.steps else "; after a batch's effect, write do: lose, target: commit"
        return f"no batch of {sink.__name__} comes to {step}: write one of {steps}{hint}"
    if target in _OF_KAFKA and sink and sink.store != "kafka":
        return f"{sink.__name__} has no transactions that brokers coordinate: write another target"
    if verb in ("lose", "damage") and step != "commit_logged":
        return "the newest batch must be committed by then: write failpoint: commit_logged"
    if target == "output" and sink and sink.store != "files":
        return f"{sink.__name__} writes no files: write checkpoint, or another sink"
    if target == "task" and not in_task:
        return f"a task is struck at a step of its own: write one of {', '.join(failpoints.TASK)}"
    if said := _idle(target, step):
        return said
    waits = step in failpoints.HALTS and (not in_task or verb == "hijack")
    if (verb, target) in _OF_WHO_WAITS and not waits:
        return f"{verb} is done to a {target} that waits: write a failpoint that it comes to"
    return ""


def _idle(target: str, step: str | None) -> str:
    """Say why no task runs, or waits, when a fault that needs one strikes; empty if one does."""
    if step not in failpoints.HALTS or step in failpoints.TASK:
        return ""
    if target == "executor":
        return f"the driver waits at {step}, and no executor: write executor:any, or another step"
    if target in (BUSY, WORKER):
        steps = ", ".join(failpoints.TASK)
        return f"no task runs while the driver waits at {step}: write a batch, or one of {steps}"
    return ""


def _without_effect(
    draft: Draft, verb: str, target: str, sink: type[Sink] | None, reference: Reference | None
) -> str:
    """Say why what a fault does can do nothing in this scenario; empty if it can."""
    if target in _OF_KAFKA and sink and (sink.store, sink.family) == ("kafka", "append"):
        said = f"{sink.__name__} adds records outside of any transaction: write another target"
        return f"{said}, or the sink two_phase_topic"
    if (verb, target) == ("fill", "output") and is_elsewhere(sink, draft.sink_options):
        return (
            "the output lies in a folder of yours, on no disk of the run's own: leave folder out"
            " and let the job write to {target}, or write checkpoint"
        )
    is_ours = draft.has("pipeline") and draft.own_command is None
    if target.startswith(_STATE) and is_ours and reference and not reference.is_stateful:
        said = f"{draft.pipeline_name} keeps no state that could be damaged"
        return f"{said}: write app_views, sliding_counts, or another kind of damage"
    return ""


def check_restart(draft: Draft) -> None:
    """The strategy gives up where the job is to fail for good, and nowhere else."""
    _check_last_words(draft)
    if not draft.has("faults", "restart", "ends", "pipeline", "source_options"):
        return
    faults, restart = draft.values["faults"], draft.values["restart"]
    ends_it = _ENDS_AN_ATTEMPT if skips_lost_input(draft) else (*_ENDS_AN_ATTEMPT, "expire")
    kills = sum(
        fault["do"] in ends_it
        or (fault["target"] in ("driver", "job") and fault["do"] in ("kill", "stop", "raise"))
        for fault in faults
    )
    told = f"{restart['strategy']} starts the job"
    starts = 0 if restart["strategy"] == "none" else restart.get("attempts", kills)
    if draft.values["ends"] == OVER and starts < kills:
        draft.refuse(
            f"{told} {starts} times again, and its driver is struck {kills} times: write"
            " fixed-delay with more attempts, or ends: failed",
            "restart",
        )
    if draft.values["ends"] == FAILED and not kills:
        draft.refuse("is failed, and no fault strikes the driver: write over, or a fault", "ends")


def _check_last_words(draft: Draft) -> None:
    """They are asked for where the job is to fail, by an expression that can be looked for."""
    if not draft.has("ends", "last_words") or not (wanted := draft.values["last_words"]):
        return
    if draft.values["ends"] != FAILED:
        draft.refuse(
            "is for a job that must fail: write ends: failed, or leave it out", "last_words"
        )
    try:
        re.compile(wanted)
    except re.error as error:
        draft.refuse(f"{wanted!r} is no regular expression ({error})", "last_words")
