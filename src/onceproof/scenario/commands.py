"""The command that starts the job under test, with placeholders for values of the run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

PLACEHOLDERS = {
    "python": "the job's `python`, or the one that Onceproof runs on",
    "jobs": "the folder of the catalogue's jobs",
    "here": "the folder of the scenario file; the job itself is started in the run's directory",
    "bootstrap": "the brokers' addresses, host:port,host:port",
    "topic": "the input's topic",
    "checkpoint": "the folder of the job's checkpoint",
    "sink": "the sink's name",
    "target": "the sink's target: schema.table, the path of an output's folder, or a topic",
    "address": "the store's address",
    "jdbc": "the store's address for JDBC",
    "reference": "the reference, module:attribute",
}
ENTRY = "{jobs}/stream.py"  # starts a pipeline of the catalogue by the name that follows
# Fields of a scenario that become arguments of the job, if it takes them.
OF_THE_JOB = ("state_store", "max_offsets", "trigger", "source")
# A doubled bracket is a bracket, as in Python's format strings; ${NAME} is an environment variable.
_PLACEHOLDER = re.compile(r"\$\{[A-Za-z_]\w*\}|\{\{|\}\}|\{([^{}]*)\}", re.ASCII)
_BRACKET = re.compile(r"(\$\{[A-Za-z_]\w*\})|([{}])", re.ASCII)


def default_command(
    pipeline: str,
    options: Mapping[str, Any],
    of_the_sink: Mapping[str, Any],
    of_the_source: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return the command of a catalogue's pipeline, with the options of it, its sink and source."""
    names = ("bootstrap", "topic", "checkpoint", "sink", "target", "address")
    return (
        *("{python}", ENTRY, pipeline),
        *(word for name in names for word in (f"--{name}", f"{{{name}}}")),
        *_flags("--set", options),
        *_flags("--sink-set", of_the_sink),
        *_flags("--source-set", dict(sorted(of_the_source.items()))),
    )


def _flags(flag: str, options: Mapping[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in (flag, f"{name}={_escaped(value)}")]


def placeholders_in(command: Sequence[str]) -> set[str]:
    """Return the names of a command's placeholders."""
    return {
        found[1]
        for word in command
        for found in _PLACEHOLDER.finditer(word)
        if found[1] is not None
    }


def has_lone_bracket(word: str) -> bool:
    """Whether a bracket is not doubled and not part of a placeholder."""
    return bool({"{", "}"} & set(_PLACEHOLDER.sub("", word)))


def fill(command: Sequence[str], values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the command with the placeholders that have a value filled in; others stay."""

    def put(found: re.Match[str]) -> str:
        if found[1] not in values:
            return found[0]
        return _BRACKET.sub(lambda one: one[1] or one[2] * 2, str(values[found[1]]))

    return tuple(_PLACEHOLDER.sub(put, word) for word in command)


def _escaped(value: Any) -> str:
    return str(value).replace("{", "{{").replace("}", "}}")
