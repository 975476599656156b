"""From the fields of one scenario to the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof import sinks
from onceproof.errors import RequestError
from onceproof.guarantee import Anomaly, Guarantee, Promise
from onceproof.references import REFERENCES, find_reference
from onceproof.scenario import crosschecks
from onceproof.scenario.commands import OF_THE_JOB, default_command, named
from onceproof.scenario.draft import Draft
from onceproof.scenario.fields import SCENARIO, WORKLOAD
from onceproof.scenario.kinds import read_fields
from onceproof.scenario.model import Scenario, Sink, Workload
from onceproof.scenario.page import Item
from onceproof.sinks import find_sink
from onceproof.verdict import Claim, Grade
from onceproof.work import FaultPart, LimitsPart, PipelinePart
from onceproof.workloads import find_workload


def build(owner: Item, items: Mapping[str, Item]) -> Scenario | None:
    """Return the scenario; None, with complaints noted, where something is wrong with it."""
    before = len(owner.page.complaints)
    draft = Draft(owner, items, read_fields(owner, items, SCENARIO))
    sink = _sink_class(draft)
    workload = _workload(draft)
    _reference(draft)
    claim = _claim(draft, sink)
    crosschecks.check_name(draft)
    crosschecks.check_command(draft)
    crosschecks.check_input(draft, claim.promise.guarantee if claim else None)
    crosschecks.check_sink_options(draft)
    crosschecks.check_faults(draft, sink)
    crosschecks.check_restart(draft)
    if len(owner.page.complaints) > before or not (sink and workload and claim):
        return None
    values = draft.values
    return Scenario(
        file=owner.page.file,
        name=values["name"],
        tags=values["tags"],
        is_ours=draft.own_command is None,
        pipeline=_pipeline(draft),
        workload=workload,
        sink=Sink(draft.sink_name, draft.sink_options, sink),
        faults=_faults(draft),
        restart=values["restart"],
        limits=LimitsPart(**values["limits"]),
        claim=claim,
    )


def _sink_class(draft: Draft) -> type[sinks.Sink] | None:
    if not draft.has("sink"):
        return None
    try:
        return find_sink(draft.sink_name)
    except RequestError as error:
        draft.refuse(str(error), "sink", *(["name"] if draft.items["sink"].is_mapping else []))
        return None


def _reference(draft: Draft) -> None:
    """Somebody else's reference is looked up at once; ours are known."""
    if not draft.has("pipeline") or draft.own_command is None:
        return
    try:
        find_reference(draft.values["pipeline"]["reference"])
    except RequestError as error:
        draft.refuse(str(error), "pipeline", "reference")


def _workload(draft: Draft) -> Workload | None:
    """Return it with every option; each is tried alone first, so that each bad one is told of."""
    if not draft.has("workload"):
        return None
    values = draft.values["workload"]
    given = {name: value for name, value in values.items() if name not in WORKLOAD.fields}
    tries: list[tuple[dict[str, Any], str]] = [({}, "name")]
    tries += [({name: value}, name) for name, value in given.items()]
    if not all(_fits(draft, *one) for one in tries) or not _fits(draft, given):
        return None
    options = find_workload(values["name"]).resolve(given)
    return Workload(values["name"], values["partitions"], options)


def _fits(draft: Draft, given: Mapping[str, Any], *path: str) -> bool:
    """Whether the workload takes these options; else complain at the path."""
    try:
        find_workload(draft.values["workload"]["name"]).resolve(given)
    except RequestError as error:
        draft.refuse(str(error), "workload", *path)
        return False
    return True


def _claim(draft: Draft, sink: type[sinks.Sink] | None) -> Claim | None:
    if sink is None or not draft.has("hold_to", "claims", "anomalies"):
        return None
    hold_to = Guarantee(draft.values.get("hold_to", sink.guarantee))
    try:
        return Claim(
            Promise(hold_to, sink.atomic_batches, sink.ordered),
            Grade(draft.values["claims"]),
            frozenset(map(Anomaly, draft.values["anomalies"])),
        )
    except RequestError as error:
        name, _, said = str(error).partition(": ")
        if name in draft.items:
            draft.refuse(said, name)
        else:
            draft.refuse(str(error), "anomalies")
        return None


def _pipeline(draft: Draft) -> PipelinePart:
    """Return the pipeline; it is told those of the job's settings that its command takes."""
    given = {name: draft.values[name] for name in OF_THE_JOB if name in draft.values}
    name, command = draft.pipeline_name, draft.own_command
    if command is None:
        return PipelinePart(name, default_command(name, given), REFERENCES[name], given)
    used = {one: value for one, value in given.items() if one in named(command)}
    pipeline = draft.values["pipeline"]
    return PipelinePart(name, command, pipeline["reference"], pipeline["options"] | used)


def _faults(draft: Draft) -> tuple[FaultPart, ...]:
    return tuple(
        FaultPart(name, fault["do"], fault["target"], fault["when"])
        for name, fault in zip(draft.fault_names(), draft.values["faults"], strict=True)
    )
