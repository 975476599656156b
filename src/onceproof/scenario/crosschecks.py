"""What must agree between the fields of a scenario; each check complains at the line to change."""

from __future__ import annotations

import re
from collections.abc import Mapping

from onceproof.guarantee import Guarantee
from onceproof.references import Reference
from onceproof.scenario.commands import OF_THE_JOB, PLACEHOLDERS, has_lone_bracket, named
from onceproof.scenario.draft import Draft
from onceproof.scenario.page import none_of
from onceproof.sinks import OUTPUTS, SINKS, Option, Sink, find_sink

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
    """A command has words, starts the driver here, and its placeholders are known."""
    if not draft.has("pipeline") or (command := draft.own_command) is None:
        return
    if not command:
        draft.refuse("is empty: write the words that start the job", "pipeline", "command")
    if "--deploy-mode cluster" in " ".join(command).replace("=", " "):
        said = "has its driver run where no fault reaches it: write --deploy-mode client"
        draft.refuse(said, "pipeline", "command")
    known = {*PLACEHOLDERS, *OF_THE_JOB, *draft.values["pipeline"]["options"]}
    for number, word in enumerate(command):
        if has_lone_bracket(word):
            said = f"{word!r} has a bracket that is no placeholder's: write it twice"
            draft.refuse(said, "pipeline", "command", number)
        for name in sorted(named([word]) - known):
            draft.refuse(f"placeholder {none_of(name, known)}", "pipeline", "command", number)


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
    """Of ours, sinks of topics have options, and settings of Kafka's clients beside them."""
    if not draft.has("sink") or draft.sink_name not in SINKS:
        return
    sink = find_sink(draft.sink_name)
    known: Mapping[str, Option | None] = getattr(sink, "options", {})
    for name, value in draft.sink_options.items():
        if (option := known.get(name)) and not option.fits(value):
            draft.refuse(f"{value!r} does not fit: write {option.write}", "sink", name)
        if name in known or (sink.store == "kafka" and name.startswith("kafka.")):
            continue
        has = (
            f"has the options {', '.join([*known, 'kafka.<setting>'])}"
            if known
            else "has no options"
        )
        draft.refuse(f"{draft.sink_name} {has}: leave it out", "sink", name)
