"""Checks across fields: fields that must agree, and faults that could not strike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onceproof.errors import RequestError, invalid, out_of_range, unknown
from onceproof.faults import TARGET, WHEN, Ends, Setting, Where
from onceproof.faults.needs import STEP_OF_SINK
from onceproof.faults.registry import ends_of, find_mechanism, find_target, mechanism_of
from onceproof.guarantee import Guarantee
from onceproof.references import Reference
from onceproof.references.declared import CALM
from onceproof.runs.plan import FAILED, IN_TURNS, OVER
from onceproof.scenario.commands import OF_THE_JOB, PLACEHOLDERS, has_lone_bracket, placeholders_in
from onceproof.scenario.draft import Draft, OutputDraft
from onceproof.schema.kinds import ANY, Field
from onceproof.sinks import OUTPUTS, SINKS, Sink, find_sink
from onceproof.sinks.outputs import is_output

_STATE_FORMAT_2 = re.compile(r"checkpointformatversion\W*2", re.IGNORECASE)
_LOSSY = re.compile(r"failondataloss\W*false", re.IGNORECASE)


def check_name(draft: Draft) -> None:
    """Check that the name has pipeline, sink and fault, and `calm` exactly without faults.

    Of a scenario with several outputs, the second part is any word.
    """
    if not draft.has("name", "pipeline", "sink", "faults"):
        return
    pipeline, sink, fault = draft.name_parts
    if pipeline != draft.pipeline_name:
        draft.refuse(f"begins with {pipeline!r}; write {draft.pipeline_name}__...", "name")
    is_one = "sink" in draft.values
    if is_one and sink != draft.sink_name and draft.sink_name in {**SINKS, **OUTPUTS}:
        message = f"names the sink {sink!r} instead of {draft.sink_name}"
        draft.refuse(f"{message}; write {pipeline}__{draft.sink_name}__{fault}", "name")
    is_calm = fault.partition("_")[0] == "calm"
    if is_calm and draft.values["faults"]:
        draft.refuse("ends with calm although there are faults; name what they do", "name")
    if not is_calm and not draft.values["faults"]:
        message = f"ends with {fault!r} although there are no faults"
        draft.refuse(f"{message}; write {pipeline}__{sink}__calm, or faults", "name")


def check_command(draft: Draft, named: Mapping[str, Sequence[str]]) -> None:
    """Check that a command starts the driver locally, and that its placeholders exist.

    `named` has the names that placeholders may have, as in {topic:orders}. Where there are several,
    a placeholder without a name is refused.
    """
    if not draft.has("pipeline") or (command := draft.own_command) is None:
        return
    if "--deploy-mode cluster" in " ".join(command).replace("=", " "):
        message = "runs its driver in the cluster, beyond the faults; write --deploy-mode client"
        draft.refuse(message, "pipeline", "command")
    known = {*PLACEHOLDERS, *OF_THE_JOB, *draft.values["pipeline"]["options"]}
    known -= {one for one, names in named.items() if len(names) > 1}
    known |= {f"{one}:{name}" for one, names in named.items() for name in names}
    for number, word in enumerate(command):
        if has_lone_bracket(word):
            message = f"{word!r} has a bracket outside of a placeholder; double it"
            draft.refuse(message, "pipeline", "command", number)
        for name in sorted(placeholders_in([word]) - known):
            draft.refuse(unknown("placeholder", name, known), "pipeline", "command", number)


def check_settings(draft: Draft) -> None:
    """Check that settings of a user's job appear in its command."""
    if not draft.has("pipeline") or (command := draft.own_command) is None:
        return
    used, own = placeholders_in(command), draft.values["pipeline"]["options"]
    if draft.has("source_options") and draft.values["source_options"]:
        draft.refuse(
            "is only for a pipeline of the catalogue; set it in your own job", "source_options"
        )
    for name in own.keys() - used:
        message = f"the command does not contain {{{name}}}; add it there, or omit the option"
        draft.refuse(message, "pipeline", "options", name)
    for name in own.keys() & {*PLACEHOLDERS, *OF_THE_JOB}:
        draft.refuse("is a reserved name; use another", "pipeline", "options", name)
    for name in OF_THE_JOB:
        if name in draft.items and name not in used:
            message = f"has no effect, as the command does not contain {{{name}}}"
            draft.refuse(f"{message}; add it there, or omit {name}", name)


def check_query(draft: Draft, sink: type[Sink], reference: Reference) -> None:
    """Check that the sink supports the query's output mode, and does not lose its state."""
    if reference.mode not in sink.modes:
        draft.refuse(
            f"{draft.sink_name} supports the output modes {', '.join(sink.modes)}, but"
            f" {draft.pipeline_name} is a query in {reference.mode} mode; use another sink",
            "sink",
        )
    is_native = draft.sink_name == "spark_files"
    if is_native and reference.is_stateful and _STATE_FORMAT_2.search(_settings_of(draft)):
        draft.refuse(
            "the state's checkpointFormatVersion is 2, with which a stateful query cannot recover"
            " from a crash between the commit of Spark's file sink and the commit log; use 1, or"
            " another sink",
            "pipeline",
        )


def check_input(draft: Draft, hold_to: Guarantee | None) -> None:
    """Refuse to skip lost input under exactly-once, where a repeated batch may differ."""
    if not draft.has("pipeline", "source_options"):
        return
    if hold_to is Guarantee.EXACTLY_ONCE and skips_lost_input(draft):
        draft.refuse(
            "failOnDataLoss is false although the run is held to exactly-once, so a repeated batch"
            " may have other rows; write true, or hold_to: at-most-once",
            "pipeline" if draft.own_command else "source_options",
        )


def skips_lost_input(draft: Draft) -> bool:
    """Whether the query skips lost input, by an option or by the job's own command."""
    return bool(_LOSSY.search(_settings_of(draft)))


def check_source(draft: Draft, reference: Reference) -> None:
    """Refuse a source that cannot be replayed for pipelines with state: no reference exists."""
    if draft.values.get("source") == "taken_once" and (
        reference.is_stateful or draft.own_command is not None
    ):
        draft.refuse(
            f"{draft.pipeline_name} cannot read a source without replay; only stateless pipelines"
            " of the catalogue can: use copy_events, or omit source",
            "source",
        )


def _settings_of(draft: Draft) -> str:
    """Return the command of a user's job with its options, else the source's options."""
    if (command := draft.own_command) is None:
        return " ".join(f"{name}={value}" for name, value in draft.values["source_options"].items())
    options = draft.values["pipeline"]["options"]
    return " ".join([*command, *(f"{name}={value}" for name, value in options.items())])


def check_sink_options(draft: Draft) -> None:
    """Check the options of a catalogue's sink; topics also take settings of Kafka's clients."""
    if not draft.has("sink") or draft.sink_name not in SINKS or not draft.sink_options:
        return
    sink = find_sink(draft.sink_name)
    known: Mapping[str, Field] = getattr(sink, "options", {})
    for name, item in (draft.items["sink"].fields() or {}).items():
        if name in known:
            known[name].kind.read(item)
        elif sink.store == "kafka" and name.startswith("kafka."):
            ANY.read(item)
        elif name != "name":
            has = f"the options {', '.join([*known, 'kafka.<setting>'])}" if known else "no options"
            item.refuse(f"{draft.sink_name} has {has}; omit it")


def check_faults(draft: Draft, outputs: Sequence[OutputDraft]) -> None:
    """Check that each fault has a unique name, is possible, and has a moment that comes."""
    if not draft.has("faults", "workload", "inputs") or not outputs:
        return
    names = draft.fault_names()
    queries = {one.query: one for one in reversed(outputs)}
    for number, fault in enumerate(draft.values["faults"]):
        name = fault["when"].get("query", outputs[0].query)
        if name not in queries:
            message = unknown("query", name, queries)
            draft.refuse(message, "faults", number, "when", "query")
            continue
        if Counter(names)[names[number]] > 1:
            message = f"duplicate name {names[number]!r} of a fault; rename one"
            draft.refuse(message, "faults", number, "name")
        for at, message in _impossible(draft, fault, queries[name], len(queries)):
            draft.refuse(message, "faults", number, *at)


def _impossible(
    draft: Draft, fault: Mapping[str, Any], output: OutputDraft, queries: int
) -> Iterator[tuple[Where, str]]:
    """Yield why a fault cannot happen, each with the field that it is about."""
    partitions = output.inputs[0].partitions if output.inputs else 1
    is_ours = draft.has("pipeline") and draft.own_command is None
    reference, sink = output.reference, output.sink
    is_stateless = is_ours and reference is not None and not reference.is_stateful
    setting = Setting(
        fault["do"],
        fault["target"],
        fault["when"].get("failpoint"),
        sink,
        fault["how"],
        output.draft.sink_options if sink else {},
        partitions,
        draft.pipeline_name if is_stateless else "",
    )
    yield from (*_strange(setting), *_lacking(setting).items())
    partition = (find_target(fault["target"]) or ("", None))[1]
    if partition is not None and partition >= partitions:
        use = f"a partition of the input, 0 to {partitions - 1}"
        yield TARGET, out_of_range("target", fault["target"], use)
    if "visible" in fault["when"] and sink and sink.atomic_batches:
        message = f"a batch of {output.draft.sink_name} becomes visible as a whole"
        yield WHEN, f"{message}; use a failpoint or a batch"
    mechanism = mechanism_of(fault["do"], fault["target"])
    if queries > 1 and mechanism and mechanism.disks.get(fault["target"]) == "checkpoint":
        yield TARGET, "needs the one checkpoint of a run; use it in a scenario with one query"


def _strange(one: Setting) -> list[tuple[Where, str]]:
    """Return complaints about an unknown fault, or unknown names under `how`."""
    try:
        known = find_mechanism(one.verb, one.target).how.get(one.verb, {})
    except RequestError as error:
        return [(TARGET, str(error))]
    takes = f"takes {', '.join(known)} under how" if known else "takes nothing under how"
    message = f"{one.verb} {takes}; omit it"
    return [(("how", name), message) for name in one.how.keys() - known.keys()]


def _lacking(one: Setting) -> dict[Where, str]:
    """Return the unmet needs of a fault: the first one at each field."""
    mechanism = mechanism_of(one.verb, one.target)
    found: dict[Where, str] = {}
    for need in (STEP_OF_SINK, *(mechanism.needs if mechanism else ())):
        if message := need.lacks(one):
            found.setdefault(need.at, message)
    return found


def misplaced(verb: str, target: str, step: str | None, sink: type[Sink] | None) -> str:
    """Return why a fault cannot happen at its moment; empty if it can."""
    return _lacking(Setting(verb, target, step, sink)).get(WHEN, "")


def check_lives(draft: Draft) -> None:
    """Refuse turns for a pipeline of the catalogue, which never ends by itself."""
    if not draft.has("lives", "pipeline") or draft.values["lives"] != IN_TURNS:
        return
    if draft.own_command is None:
        use = "omit lives, or use a job of yours"
        draft.refuse(f"{draft.pipeline_name} runs until it is stopped; {use}", "lives")


def check_restart(draft: Draft) -> None:
    """Check that the strategy gives up exactly if the job must fail for good."""
    _check_last_words(draft)
    if not draft.has("faults", "restart", "ends", "pipeline", "source_options"):
        return
    faults, restart = draft.values["faults"], draft.values["restart"]
    harmless = {Ends.NOTHING, Ends.EITHER}
    harmless |= {Ends.LOST_INPUT} if skips_lost_input(draft) else set()
    kills = sum(ends_of(one["do"], one["target"]) not in harmless for one in faults)
    starts = 0 if restart["strategy"] == "none" else restart.get("attempts", kills)
    if draft.values["ends"] == OVER and starts < kills:
        draft.refuse(
            f"{restart['strategy']} restarts the job {starts} times, but its driver is struck"
            f" {kills} times; use fixed-delay with more attempts, or ends: failed",
            "restart",
        )
    if draft.values["ends"] == FAILED and not kills:
        draft.refuse(
            "is failed although no fault strikes the driver; write over, or add a fault", "ends"
        )


def _check_last_words(draft: Draft) -> None:
    if not draft.has("ends", "last_words") or not (wanted := draft.values["last_words"]):
        return
    if draft.values["ends"] != FAILED:
        draft.refuse(
            "is only for a job that must fail; write ends: failed, or omit it", "last_words"
        )
    try:
        re.compile(wanted)
    except re.error as error:
        draft.refuse(invalid("value", wanted, f"a regular expression ({error})"), "last_words")


def check_calm(draft: Draft, sink: type[Sink], reference: str) -> None:
    """Refuse outputs that would keep the rows of the calm run when the run itself begins."""
    if reference != CALM or not is_output(sink):
        return
    place, options = sink.place, draft.sink_options
    if not place.named_by or (place.is_named(options) and not options.get("empty")):
        message = "the reference calm runs the job twice without emptying its output in between"
        use = "another reference, empty: true, or an output of the run's own"
        draft.refuse(f"{message}; use {use}", "sink")
