"""What must agree between the faults of a scenario and the rest of it."""

from __future__ import annotations

import re
from collections import Counter

from onceproof.errors import RequestError
from onceproof.faults import TARGET, WHEN, Ends, Setting, Where
from onceproof.faults.needs import STEP_OF_SINK
from onceproof.faults.registry import ends_of, find_mechanism, find_target, mechanism_of
from onceproof.references import Reference
from onceproof.run.plan import FAILED, OVER
from onceproof.scenario.crosschecks import skips_lost_input
from onceproof.scenario.draft import Draft
from onceproof.sinks import Sink


def check_faults(draft: Draft, sink: type[Sink] | None, reference: Reference | None) -> None:
    """Each fault has a name of its own, can be done, and has a moment that comes."""
    if not draft.has("faults", "workload"):
        return
    names = draft.fault_names()
    partitions = draft.values["workload"]["partitions"]
    is_ours = draft.has("pipeline") and draft.own_command is None
    is_stateless = is_ours and reference is not None and not reference.is_stateful
    for number, fault in enumerate(draft.values["faults"]):
        setting = Setting(
            fault["do"],
            fault["target"],
            fault["when"].get("failpoint"),
            sink,
            fault["how"],
            draft.sink_options if sink else {},
            partitions,
            draft.pipeline_name if is_stateless else "",
        )
        for at, said in (*_strange(setting), *_lacking(setting).items()):
            draft.refuse(said, "faults", number, *at)
        partition = (find_target(fault["target"]) or ("", None))[1]
        if partition is not None and partition >= partitions:
            said = f"{fault['target']!r}: the input has the partitions 0 to {partitions - 1}"
            draft.refuse(f"{said}: write one", "faults", number, "target")
        if "visible" in fault["when"] and sink and sink.atomic_batches:
            said = f"readers of {draft.sink_name} see a batch whole or not at all"
            draft.refuse(f"{said}: write a failpoint or a batch", "faults", number, "when")
        if Counter(names)[names[number]] > 1:
            said = f"two faults are called {names[number]!r}: give each its own name"
            draft.refuse(said, "faults", number, "name")


def _strange(one: Setting) -> list[tuple[Where, str]]:
    """Return complaints where no mechanism does the fault, or takes a name under `how`."""
    try:
        known = find_mechanism(one.verb, one.target).how.get(one.verb, {})
    except RequestError as error:
        return [(TARGET, str(error))]
    takes = f"takes {', '.join(known)} under how" if known else "takes nothing under how"
    said = f"{one.verb} {takes}: leave it out"
    return [(("how", name), said) for name in one.how.keys() - known.keys()]


def _lacking(one: Setting) -> dict[Where, str]:
    """Return what a scenario lacks for a fault: the first thing at each field."""
    mechanism = mechanism_of(one.verb, one.target)
    told: dict[Where, str] = {}
    for need in (STEP_OF_SINK, *(mechanism.needs if mechanism else ())):
        if said := need.lacks(one):
            told.setdefault(need.at, said)
    return told


def misplaced(verb: str, target: str, step: str | None, sink: type[Sink] | None) -> str:
    """Say why a fault's moment is none for what it does; empty if it is one."""
    return _lacking(Setting(verb, target, step, sink)).get(WHEN, "")


def check_restart(draft: Draft) -> None:
    """The strategy gives up where the job is to fail for good, and nowhere else."""
    _check_last_words(draft)
    if not draft.has("faults", "restart", "ends", "pipeline", "source_options"):
        return
    faults, restart = draft.values["faults"], draft.values["restart"]
    harmless = {Ends.NOTHING, Ends.EITHER}
    harmless |= {Ends.LOST_INPUT} if skips_lost_input(draft) else set()
    kills = sum(ends_of(one["do"], one["target"]) not in harmless for one in faults)
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
