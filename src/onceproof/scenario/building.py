"""Construction of a scenario from its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from onceproof import sinks
from onceproof.errors import RequestError
from onceproof.guarantee import Anomaly, Guarantee, Promise, end_to_end
from onceproof.naming import located, whole
from onceproof.references import REFERENCES, Reference
from onceproof.references.declared import find_declared
from onceproof.runs.plan import (
    EARLIEST,
    FaultPart,
    InputPart,
    JobPart,
    LimitsPart,
    OutputPart,
    QueryPart,
    Writes,
)
from onceproof.scenario import checks
from onceproof.scenario.commands import OF_THE_JOB, default_command, placeholders_in
from onceproof.scenario.draft import Draft
from onceproof.scenario.fields import OUTPUT, RUNTIME, SCENARIO, TAKEN_ONCE, WORKLOAD
from onceproof.scenario.model import Scenario
from onceproof.scenario.plain_secrets import check_secrets
from onceproof.scenario.suites import in_order
from onceproof.schema.kinds import read_fields
from onceproof.schema.values import BAD, Item
from onceproof.sinks import OUTPUTS, find_sink
from onceproof.sinks.outputs import Located, is_output, place_of
from onceproof.verdict import Claim, Grade
from onceproof.workloads import find_workload

INPUT = "events"  # the name of the one input, and the end of its topic's name
T = TypeVar("T")
Options = Mapping[str, Any]
_AS_THEY_ARE = ("name", "tags", "lives", "restart", "ends", "last_words", "unexplained")


def build(owner: Item, items: Mapping[str, Item]) -> Scenario | None:
    """Return the scenario; None, with complaints noted, if it has mistakes."""
    before = len(owner.page.complaints)
    draft = Draft(owner, items, read_fields(owner, items, SCENARIO))
    sink, workload = _sink_class(draft), _workload(draft)
    job, wanted = _job(draft), _reference_part(draft)
    reference = _reference(draft, *wanted) if wanted else None
    claim = _claim(draft, sink)
    check_secrets(draft)
    checks.check_name(draft)
    checks.check_command(draft)
    checks.check_settings(draft)
    checks.check_input(draft, claim.promise.guarantee if claim else None)
    checks.check_sink_options(draft)
    if sink and reference:
        checks.check_query(draft, sink, reference)
        checks.check_source(draft, reference)
    if sink and wanted:
        checks.check_calm(draft, sink, wanted[0])
    checks.check_faults(draft, sink, reference)
    checks.check_lives(draft)
    checks.check_restart(draft)
    if len(owner.page.complaints) > before:
        return None
    if not (sink and workload and claim and job and wanted and reference):
        return None
    values = draft.values
    output = _output(draft, sink, reference, *wanted)
    return Scenario(
        file=owner.page.file,
        **{name: values[name] for name in _AS_THEY_ARE},
        is_ours=draft.own_command is None,
        jobs=(job,),
        inputs=(workload,),
        queries=(_query(draft, job, workload, output),),
        faults=_faults(draft),
        limits=LimitsPart(**{name: int(value) for name, value in values["limits"].items()}),
        claim=claim,
        expectations=in_order(values["expectations"]),
    )


def _sink_class(draft: Draft) -> type[sinks.Sink] | None:
    if not draft.has("sink"):
        return None
    owner, name, options = draft.items["sink"], draft.sink_name, draft.sink_options
    path = ["name"] if owner.is_mapping else []
    if name in OUTPUTS:
        given = (owner.fields() or {}) if owner.is_mapping else {}
        own = {one: item for one, item in given.items() if one != "name"}
        if BAD in read_fields(owner, own, place_of(name).shape).values():
            return None
    return _find(draft, lambda: find_sink(name, options), name, "sink", *path)


def _reference(draft: Draft, name: str, declared: Options) -> Reference | None:
    return _find(draft, lambda: find_declared(name, declared), name, "pipeline", "reference")


def _find(draft: Draft, find: Callable[[], T], name: str, *path: str) -> T | None:
    """Return the result of `find`; None, and a complaint, if it fails."""
    try:
        return find()
    except RequestError as error:
        draft.refuse(str(error), *path)
    except Exception as error:  # of a user's module while it is imported
        message = f"{name!r} cannot be imported: {type(error).__name__}: {error}"
        draft.refuse(f"{message}; fix that module, or use another", *path)
    return None


def _workload(draft: Draft) -> InputPart | None:
    if not draft.has("workload"):
        return None
    values = draft.values["workload"]
    name = located(values["name"], draft.folder)
    workload = _find(draft, lambda: find_workload(name), name, "workload", "name")
    if not workload:
        return None
    owner = draft.items.get("workload", draft.owner)
    given = (owner.fields() or {}) if "workload" in draft.items else {}
    own = {one: item for one, item in given.items() if one not in WORKLOAD.fields}
    if (options := workload.read(owner, own)) is None:
        return None
    pinned = _find(draft, lambda: workload.pinned(options, draft.folder), name, "workload")
    return None if pinned is None else InputPart(INPUT, name, "", values["partitions"], pinned)


def _claim(draft: Draft, sink: type[sinks.Sink] | None) -> Claim | None:
    if sink is None or not draft.has("hold_to", "claims", "anomalies"):
        return None
    is_taken_once = draft.values.get("source") == TAKEN_ONCE
    source = Guarantee.AT_MOST_ONCE if is_taken_once else Guarantee.EXACTLY_ONCE
    whole = end_to_end(source, Guarantee.EXACTLY_ONCE, sink.guarantee)
    hold_to = Guarantee(draft.values.get("hold_to", whole))
    try:
        return Claim(
            Promise(hold_to, sink.atomic_batches, sink.ordered),
            Grade(draft.values["claims"]),
            frozenset(map(Anomaly, draft.values["anomalies"])),
        )
    except RequestError as error:
        name, _, message = str(error).partition(": ")
        if name in draft.items:
            draft.refuse(message, name)
        else:
            draft.refuse(str(error), "anomalies")
        return None


def _job(draft: Draft) -> JobPart | None:
    if not draft.has("pipeline", "sink", "name", "source_options"):
        return None
    given = {name: draft.values[name] for name in OF_THE_JOB if name in draft.values}
    name, command = draft.pipeline_name, draft.own_command
    if command is None:
        source = draft.values["source_options"]
        return JobPart(name, default_command(name, given, draft.sink_options, source), given)
    used = {one: value for one, value in given.items() if one in placeholders_in(command)}
    pipeline = draft.values["pipeline"]
    return JobPart(name, command, pipeline["options"] | used, _runtime(draft, pipeline))


def _reference_part(draft: Draft) -> tuple[str, Options] | None:
    if not draft.has("pipeline", "name"):
        return None
    if draft.own_command is None:
        return REFERENCES[draft.pipeline_name], {}
    pipeline = draft.values["pipeline"]
    declared = {one: pipeline[one] for one in OUTPUT if one in pipeline}
    return located(pipeline["reference"], draft.folder), declared


def _output(
    draft: Draft, kind: type[sinks.Sink], reference: Reference, name: str, declared: Options
) -> OutputPart:
    options = _located_options(draft)
    return OutputPart(
        name="output",
        sink=draft.sink_name,
        target=options.get(kind.place.named_by, "") if is_output(kind) else "",
        options=options,
        family=kind.family,
        store=kind.store,
        guarantee=kind.guarantee,
        atomic_batches=kind.atomic_batches,
        ordered=kind.ordered,
        versioned=kind.writes is Writes.UPSERT and reference.version is not None,
        writes=kind.writes,
        reference=name,
        declared=declared,
        rows=reference.in_plan(kind.writes),
    )


def _query(draft: Draft, job: JobPart, read: InputPart, output: OutputPart) -> QueryPart:
    pipeline = draft.values["pipeline"]
    starting = EARLIEST if draft.own_command is None else pipeline["starting"]
    source = draft.values["source_options"]
    return QueryPart("main", job.name, (read.name,), (output,), starting, source)


def _faults(draft: Draft) -> tuple[FaultPart, ...]:
    return tuple(
        FaultPart(
            name,
            fault["do"],
            fault["target"],
            fault["when"],
            fault["how"],
            effect=fault["effect"],
        )
        for name, fault in zip(draft.fault_names(), draft.values["faults"], strict=True)
    )


def _located_options(draft: Draft) -> Options:
    """Return the sink's options, with absolute names of an output's files."""
    known = place_of(draft.sink_name).options if draft.sink_name in OUTPUTS else {}
    found = draft.sink_options
    for name, field in known.items():
        if name in found and isinstance(field.kind, Located):
            found[name] = field.kind.in_folder(found[name], draft.folder)
    return found


def _runtime(draft: Draft, pipeline: Options) -> Options:
    found = {one: pipeline[one] for one in RUNTIME if one in pipeline}
    if "jars" in found:
        found["jars"] = tuple(whole(jar, draft.folder) for jar in found["jars"])
    for one in ("python", "spark_home"):
        if "/" in found.get(one, ""):
            found[one] = whole(found[one], draft.folder)
    return found
