"""What no field can check alone: fields that must agree, and faults that could not strike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from onceproof.errors import RequestError, unknown
from onceproof.faults import TARGET, WHEN, Ends, Setting, Where
from onceproof.faults.needs import STEP_OF_SINK
from onceproof.faults.registry import ends_of, find_mechanism, find_target, mechanism_of
from onceproof.guarantee import Guarantee
from onceproof.references import Reference
from onceproof.references.declared import CALM
from onceproof.runs.plan import FAILED, OVER
from onceproof.scenario.commands import OF_THE_JOB, PLACEHOLDERS, has_lone_bracket, named
from onceproof.scenario.draft import Draft
from onceproof.schema.kinds import Field
from onceproof.sinks import OUTPUTS, SINKS, Sink, find_sink
from onceproof.sinks.outputs import is_output

_STATE_FORMAT_2 = re.compile(r"checkpointformatversion\W*2", re.IGNORECASE)
_LOSSY = re.compile(r"failondataloss\W*false", re.IGNORECASE)


def check_name(draft: Draft) -> None:
    """The name tells pipeline, sink and fault, and `calm` stands for no fault."""
    if not draft.has("name", "pipeline", "sink", "faults"):
        return
    pipeline, sink, fault = draft.name_parts
    if pipeline != draft.pipeline_name:
        draft.refuse(f"begins with {pipeline!r}: write {draft.pipeline_name}__...", "name")
    if sink != draft.sink_name and draft.sink_name in {**SINKS, **OUTPUTS}:
        said = f"names the sink {sink!r}, and it is {draft.sink_name}"
        draft.refuse(f"{said}: write {pipeline}__{draft.sink_name}__{fault}", "name")
    is_calm = fault.partition("_")[0] == "calm"
    if is_calm and draft.values["faults"]:
        draft.refuse("says calm, and there are faults: write what they do", "name")
    if not is_calm and not draft.values["faults"]:
        said = f"ends with {fault!r}, and there are no faults"
        draft.refuse(f"{said}: write {pipeline}__{sink}__calm, or faults", "name")


def check_command(draft: Draft) -> None:
    """A command starts the driver here, and its placeholders are known."""
    if not draft.has("pipeline") or (command := draft.own_command) is None:
        return
    if "--deploy-mode cluster" in " ".join(command).replace("=", " "):
        said = "has its driver run where no fault reaches it: write --deploy-mode client"
        draft.refuse(said, "pipeline", "command")
    known = {*PLACEHOLDERS, *OF_THE_JOB, *draft.values["pipeline"]["options"]}
    for number, word in enumerate(command):
        if has_lone_bracket(word):
            said = f"{word!r} has a bracket that is no placeholder's: write it twice"
            draft.refuse(said, "pipeline", "command", number)
        for name in sorted(named([word]) - known):
            draft.refuse(unknown("placeholder", name, known), "pipeline", "command", number)


def check_settings(draft: Draft) -> None:
    """What is set for somebody else's job is used by its command."""
    if not draft.has("pipeline") or (command := draft.own_command) is None:
        return
    used, own = named(command), draft.values["pipeline"]["options"]
    if draft.has("source_options") and draft.values["source_options"]:
        draft.refuse("is of a pipeline of ours: write it in your own job", "source_options")
    for name in own.keys() - used:
        said = f"the command never says {{{name}}}: write it there, or leave the option out"
        draft.refuse(said, "pipeline", "options", name)
    for name in own.keys() & {*PLACEHOLDERS, *OF_THE_JOB}:
        draft.refuse("has a meaning already: give it another name", "pipeline", "options", name)
    for name in OF_THE_JOB:
        if name in draft.items and name not in used:
            said = f"the command never says {{{name}}}, so it would change nothing"
            draft.refuse(f"{said}: write it there, or leave {name} out", name)


def check_query(draft: Draft, sink: type[Sink], reference: Reference) -> None:
    """The sink takes the query's output mode, and does not lose its state."""
    if reference.mode not in sink.modes:
        draft.refuse(
            f"{draft.sink_name} takes the output modes {', '.join(sink.modes)}, and"
            f" {draft.pipeline_name} is a query in {reference.mode} mode: write another sink",
            "sink",
        )
    is_native = draft.sink_name == "spark_files"
    if is_native and reference.is_stateful and _STATE_FORMAT_2.search(_settings_of(draft)):
        draft.refuse(
            "the state's checkpointFormatVersion is 2, and with it no stateful query outlives a"
            " crash between the commit of Spark's file sink and the commit log: write 1, or another"
            " sink",
            "pipeline",
        )


def check_input(draft: Draft, hold_to: Guarantee | None) -> None:
    """No job may skip lost input where exactly-once is proved: a replay may hold other rows."""
    if not draft.has("pipeline", "source_options"):
        return
    if hold_to is Guarantee.EXACTLY_ONCE and skips_lost_input(draft):
        draft.refuse(
            "failOnDataLoss is false, and the run is held to exactly-once: a batch that is run"
            " again may then hold other rows; write true, or hold_to: at-most-once",
            "pipeline" if draft.own_command else "source_options",
        )


def skips_lost_input(draft: Draft) -> bool:
    """Whether the query goes on over input that is gone, as a job's own command may say too."""
    return bool(_LOSSY.search(_settings_of(draft)))


def check_source(draft: Draft, reference: Reference) -> None:
    """What is lost between source and state no reference can know of."""
    if draft.values.get("source") == "taken_once" and (
        reference.is_stateful or draft.own_command is not None
    ):
        draft.refuse(
            f"{draft.pipeline_name} reads a source that cannot be replayed, and only a pipeline of"
            " ours without state can: write copy_events, or leave source out",
            "source",
        )


def _settings_of(draft: Draft) -> str:
    """Return what a command of somebody else's says, with the values for it; of ours its source."""
    if (command := draft.own_command) is None:
        return " ".join(f"{name}={value}" for name, value in draft.values["source_options"].items())
    options = draft.values["pipeline"]["options"]
    return " ".join([*command, *(f"{name}={value}" for name, value in options.items())])


def check_sink_options(draft: Draft) -> None:
    """A sink of ours takes its own options, and one of a topic settings of Kafka's clients."""
    if not draft.has("sink") or draft.sink_name not in SINKS or not draft.sink_options:
        return
    sink = find_sink(draft.sink_name)
    known: Mapping[str, Field] = getattr(sink, "options", {})
    for name, item in (draft.items["sink"].fields() or {}).items():
        if name in known:
            known[name].kind.read(item)
        elif name != "name" and not (sink.store == "kafka" and name.startswith("kafka.")):
            has = f"the options {', '.join([*known, 'kafka.<setting>'])}" if known else "no options"
            item.refuse(f"{draft.sink_name} has {has}: leave it out")


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


def check_calm(draft: Draft, sink: type[Sink], reference: str) -> None:
    """What a calm run leaves must not be there when the run itself begins."""
    if reference != CALM or not is_output(sink):
        return
    place, options = sink.place, draft.sink_options
    if not place.named_by or (place.is_named(options) and not options.get("empty")):
        said = "calm runs the job twice, and nothing empties its output in between: write another"
        draft.refuse(f"{said} reference, empty: true, or an output of the run's own", "sink")
