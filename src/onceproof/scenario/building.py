"""Construction of a scenario from its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onceproof import sinks
from onceproof.errors import RequestError, unknown
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
from onceproof.scenario.draft import Draft, OutputDraft
from onceproof.scenario.fields import OUTPUT, RUNTIME, SCENARIO, SEVERAL, TAKEN_ONCE
from onceproof.scenario.inputs import read_inputs
from onceproof.scenario.model import INPUT, QUERY, Scenario
from onceproof.scenario.model import OUTPUT as ONE_OUTPUT
from onceproof.scenario.plain_secrets import check_secrets
from onceproof.scenario.suites import in_order
from onceproof.schema.kinds import read_fields
from onceproof.schema.values import BAD, Item
from onceproof.sinks import OUTPUTS, find_sink
from onceproof.sinks.outputs import Located, is_output, place_of
from onceproof.verdict import Claim, Grade

Options = Mapping[str, Any]
_AS_THEY_ARE = ("name", "tags", "lives", "restart", "ends", "last_words", "unexplained")


def build(owner: Item, items: Mapping[str, Item]) -> Scenario | None:
    """Return the scenario; None, with complaints noted, if it has mistakes."""
    before = len(owner.page.complaints)
    shape = SEVERAL if "queries" in items else SCENARIO
    draft = Draft(owner, items, read_fields(owner, items, shape))
    inputs, job = read_inputs(draft), _job(draft)
    outputs = _outputs(draft, inputs or ())
    check_secrets(draft)
    checks.check_name(draft)
    if outputs and draft.has("inputs"):
        checks.check_command(draft, _named(draft, outputs))
    checks.check_settings(draft)
    for one in outputs:
        _check_output(one)
    checks.check_faults(draft, outputs)
    checks.check_lives(draft)
    checks.check_restart(draft)
    if len(owner.page.complaints) > before or not (inputs and job and outputs):
        return None
    values = draft.values
    return Scenario(
        file=owner.page.file,
        **{name: values[name] for name in _AS_THEY_ARE},
        is_ours=draft.own_command is None,
        jobs=(job,),
        inputs=inputs,
        queries=_queries(job, outputs),
        faults=_faults(draft),
        limits=LimitsPart(**{name: int(value) for name, value in values["limits"].items()}),
        claim=_whole_claim(outputs),
        expectations=in_order(values.get("expectations", ())),
    )


def _check_output(one: OutputDraft) -> None:
    checks.check_input(one.draft, one.claim.promise.guarantee if one.claim else None)
    checks.check_sink_options(one.draft)
    if one.sink and one.reference:
        checks.check_query(one.draft, one.sink, one.reference)
        checks.check_source(one.draft, one.reference)
    if one.sink and one.wanted:
        checks.check_calm(one.draft, one.sink, one.wanted[0])


def _outputs(draft: Draft, inputs: tuple[InputPart, ...]) -> list[OutputDraft]:
    """Return the outputs of all queries; none if the queries cannot be read."""
    if "queries" not in draft.items:
        return [_drafted(draft, QUERY, ONE_OUTPUT, inputs)]
    if not draft.has("queries", "pipeline"):
        return []
    found: list[OutputDraft] = []
    names: set[str] = set()
    for query, asked in draft.values["queries"].items():
        read = _read_by(draft, query, asked.get("inputs"), inputs)
        for name in asked["outputs"]:
            if name in names:
                message = f"duplicate name {name!r} of an output; rename one"
                draft.refuse(message, "queries", query, "outputs", name)
            names.add(name)
            found.append(_drafted(draft.of_output(query, name), query, name, read))
        if not asked["outputs"]:
            draft.refuse("is empty; write an output", "queries", query, "outputs")
    if not found:
        draft.refuse("is empty; write a query with an output", "queries")
    return found


def _read_by(
    draft: Draft, query: str, wanted: tuple[str, ...] | None, inputs: tuple[InputPart, ...]
) -> tuple[InputPart, ...]:
    """Return the inputs that a query reads, all of them by default."""
    known = {one.name: one for one in inputs}
    for number, name in enumerate(wanted or ()):
        if known and name not in known:
            message = unknown("input", name, known)
            draft.refuse(message, "queries", query, "inputs", number)
    return tuple(known[name] for name in (wanted or known) if name in known)


def _drafted(draft: Draft, query: str, name: str, inputs: tuple[InputPart, ...]) -> OutputDraft:
    sink, wanted = _sink_class(draft), _reference_part(draft)
    reference = _reference(draft, *wanted) if wanted else None
    claim = _claim(draft, sink)
    return OutputDraft(query, name, draft, sink, wanted, reference, claim, inputs)


def _named(draft: Draft, outputs: list[OutputDraft]) -> dict[str, Sequence[str]]:
    """Return the names that placeholders of the command may have."""
    by_output = [one.name for one in outputs]
    return {
        "topic": [*draft.values.get("inputs", (INPUT,))],
        "checkpoint": list(dict.fromkeys(one.query for one in outputs)),
        **dict.fromkeys(("sink", "target", "address", "jdbc", "reference"), by_output),
    }


def _whole_claim(outputs: list[OutputDraft]) -> Claim:
    """Return the claim of the weakest output, or of the first that must fail."""
    claims = [one.claim for one in outputs if one.claim]
    failing = [one for one in claims if one.verdict is Grade.FAIL]
    return min(failing or claims, key=lambda one: list(Guarantee).index(one.promise.guarantee))


def _queries(job: JobPart, outputs: list[OutputDraft]) -> tuple[QueryPart, ...]:
    by_query: dict[str, list[OutputDraft]] = {}
    for one in outputs:
        by_query.setdefault(one.query, []).append(one)
    return tuple(_query(job, name, some, len(outputs)) for name, some in by_query.items())


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
    return draft.attempt(lambda: find_sink(name, options), name, "sink", *path)


def _reference(draft: Draft, name: str, declared: Options) -> Reference | None:
    return draft.attempt(lambda: find_declared(name, declared), name, "pipeline", "reference")


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


def _output(one: OutputDraft, *, is_one: bool) -> OutputPart:
    """Return the part of the plan; one of several has a claim of its own."""
    draft, kind, reference, claim = one.draft, one.sink, one.reference, one.claim
    if not (kind and reference and one.wanted and claim):
        raise ValueError(f"the output {one.name} was refused without a complaint")
    options = _located_options(draft)
    name, declared = one.wanted
    return OutputPart(
        name=one.name,
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
        hold_to=None if is_one else claim.promise.guarantee,
        claims=None if is_one else claim.verdict,
        anomalies=() if is_one else tuple(sorted(claim.anomalies)),
    )


def _query(job: JobPart, name: str, some: list[OutputDraft], outputs: int) -> QueryPart:
    draft = some[0].draft
    pipeline = draft.values["pipeline"]
    starting = EARLIEST if draft.own_command is None else pipeline["starting"]
    source = draft.values["source_options"]
    reads = tuple(one.name for one in some[0].inputs)
    written = tuple(_output(one, is_one=outputs == 1) for one in some)
    return QueryPart(name, job.name, reads, written, starting, source)


def _faults(draft: Draft) -> tuple[FaultPart, ...]:
    return tuple(
        FaultPart(
            name,
            fault["do"],
            fault["target"],
            {one: value for one, value in fault["when"].items() if one != "query"},
            fault["how"],
            effect=fault["effect"],
            query=fault["when"].get("query", ""),
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
