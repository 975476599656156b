"""The first scenario of somebody's job: a commented file, made of the command that starts the job.

What the command names of the outside (brokers, topic, checkpoint, store, output) becomes a
placeholder, so that a run has its own of each and touches nothing of the user's.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.scenario.commands import has_lone_bracket
from onceproof.sinks import OUTPUTS
from onceproof.sinks.outputs import InitOutput, place_of

_SAID_BY_FORM = {
    "bootstrap": re.compile(r"[\w.-]+:\d{2,5}(,[\w.-]+:\d{2,5})*"),
    "jdbc": re.compile(r"jdbc:postgresql:\S+"),
    "address": re.compile(r"postgres(ql)?://\S+"),
}
# Where a job runs is the stack's to say, and what stands in a command wins over it.
_OF_THE_CLUSTER = ("--master", "--deploy-mode")
_PYTHON = re.compile(r"python[\d.]*")
_SENT_WITHIN_S = 10
_WHY_SLOWLY = "# a second, so that the job has several batches"
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Answers:
    """What a user says of a job. `output` is `KIND:PLACE`, `records` a file of sample records."""

    command: str
    topic: str
    output: str
    key: Sequence[str]
    records: str = ""

    @property
    def kind(self) -> str:
        """What the output is: one of `OUTPUTS`."""
        return self.output.partition(":")[0]

    @property
    def place(self) -> str:
        """Where the output is, as the command names it; empty where the command says {target}."""
        return self.output.partition(":")[2]

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise RequestError(f"the command {self.command!r} has {error}") from None

    @property
    def pipeline(self) -> str:
        """What the job is called: its first Python file, else its program."""
        files = [word for word in self.words if word.endswith((".py", ".jar"))]
        name = _NO_LETTERS.sub("_", Path((files or self.words)[0]).stem.lower()).strip("_")
        return name if name[:1].isalpha() else f"job_{name}".rstrip("_")


def kinds() -> str:
    """Return what can be said of an output, in words: `KIND:PLACE` of each kind."""
    return ", ".join(f"{name}:{place_of(name).example}" for name in OUTPUTS)


def starter(answers: Answers, here: Path) -> str:
    """Return the text of the scenario file that is to stand in the folder `here`."""
    _refuse_wrong(answers)
    python, command = _interpreter(_command(answers, here))
    if missing := [name for name in NEEDED if not any(f"{{{name}}}" in one for one in command)]:
        told = ", ".join(f"{{{name}}} for {NEEDED[name]}" for name in missing)
        raise RequestError(
            f"the command {shlex.join(command)} never says {told}: a run has its own of each, so"
            " the job must take them from its command; write them into it"
        )
    is_own = any("{target}" in word for word in command)
    return TEXT.format(
        pipeline=answers.pipeline,
        python=f"python: {json.dumps(python)}" if python else "# python: /path/to/venv/bin/python",
        kind=answers.kind,
        command="\n".join(f"    - {json.dumps(word, ensure_ascii=False)}" for word in command),
        key=json.dumps(list(answers.key), ensure_ascii=False),
        first=answers.key[0],
        workload="\n".join(f"  {line}" for line in _workload(answers, here)),
        sink="\n".join(f"  {line}" for line in _sink(answers, here, is_own=is_own)),
    )


def _refuse_wrong(answers: Answers) -> None:
    if not answers.words:
        raise RequestError("the command is empty: write the words that start the job")
    if answers.kind not in OUTPUTS:
        raise RequestError(f"output {answers.output!r} is none that can be read: write {kinds()}")
    if "," in answers.topic or not answers.topic:
        raise RequestError(f"topic {answers.topic!r}: a run has one input topic, so write one")
    if not answers.key or not all(answers.key):
        raise RequestError("the key is empty: name the columns that tell the output's rows apart")


def _command(answers: Answers, here: Path) -> list[str]:
    """Return the command with placeholders for what a run has of its own."""
    found: list[str] = []
    words = iter(answers.words)
    for word in words:
        if word in _OF_THE_CLUSTER:
            next(words, "")
        elif not word.startswith(tuple(f"{flag}=" for flag in _OF_THE_CLUSTER)):
            before = found[-1] if found else ""
            found.append(_placed(word, before, answers, here))
    return found


def _interpreter(command: list[str]) -> tuple[str, list[str]]:
    """Return the Python that a command names by a path, and the command with {python} for it."""
    program, *words = command
    if not _PYTHON.fullmatch(Path(program).name):
        return "", command
    return program if "/" in program else "", ["{python}", *words]


def _placed(word: str, before: str, answers: Answers, here: Path) -> str:
    """Return a word, or the value behind its `=`, as the placeholder that stands for it."""
    if re.search(r"\{\w+\}", word) and not has_lone_bracket(word):
        return word
    is_flag = re.match(r"--?[\w-]+=", word)
    flag, sign, value = word.partition("=") if is_flag else (before, "", word)
    said = _said(flag, value, answers)
    if said is None and Path(value).is_file() and not Path(value).is_absolute():
        said = f"{{here}}/{os.path.relpath(Path(value).resolve(), here.resolve())}"
    if said is None:
        said = value.replace("{", "{{").replace("}", "}}")
    return f"{flag}={said}" if sign else said


def _said(flag: str, value: str, answers: Answers) -> str | None:
    if value == answers.topic:
        return "{topic}"
    if answers.place and value == answers.place and place_of(answers.kind).named_by:
        return "{target}"
    if flag.startswith("-") and "checkpoint" in flag.lower():
        return "{checkpoint}"
    forms = (name for name, form in _SAID_BY_FORM.items() if form.fullmatch(value))
    return next((f"{{{name}}}" for name in forms), None)


def _workload(answers: Answers, here: Path) -> Iterator[str]:
    if not answers.records:
        first, *others = answers.key
        fields = {first: "id", **dict.fromkeys(others, "int 1 100"), "amount": "int 1 100"}
        yield "name: template"
        yield "# What the job parses: a JSON object of these fields. Write those that yours needs."
        yield f"value: {json.dumps(fields, ensure_ascii=False)}"
        yield "events: 10000"
        yield f"rate: 500   {_WHY_SLOWLY}"
        return
    path = Path(answers.records)
    if not path.is_file():
        raise RequestError(f"there is no file of records {answers.records}: write JSON lines")
    try:
        count = sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} cannot be read ({error}): write it in UTF-8") from None
    yield "name: records"
    yield f"file: {json.dumps(os.path.relpath(path.resolve(), here.resolve()))}"
    yield "# Each line once. With more events the file is sent again, and so are its keys."
    yield f"rate: {max(1, count // _SENT_WITHIN_S)}   {_WHY_SLOWLY}"


def _sink(answers: Answers, here: Path, *, is_own: bool) -> Iterator[str]:
    place = place_of(answers.kind)
    yield f"name: {answers.kind}"
    if place.named_by and is_own:
        yield "# A run has one of its own, which the command is told as {target}."
    elif place.named_by:
        yield "# The command does not say where it writes, so it is there that readers look."
        yield f"{place.named_by}: {json.dumps(answers.place or 'NAME')}"
        if "empty" in place.options:
            yield "# empty: true   # where it may be emptied before each run"
    yield from place.starter(InitOutput(answers.place, answers.key, here, is_own))


# What a command must say, as placeholders, since each run has its own.
NEEDED = {
    "bootstrap": "the brokers' addresses",
    "topic": "the topic that it reads",
    "checkpoint": "the folder of its checkpoint",
}
TEXT = """\
# The driver of this job dies twice in the middle of its work and is started again from its
# checkpoint; then every key of the input must be in the output, and as often as it should be.
#
#   onceproof doctor THIS_FILE     says what is missing before anything starts
#   onceproof explain THIS_FILE    says in sentences what a run does and is judged by
#   onceproof run THIS_FILE        runs it, and judges it
name: {pipeline}__{kind}__crashes

pipeline:
  # Started in the run's directory. What stands in curly brackets is filled in for each run, so it
  # reads a topic of the run's own and keeps its checkpoint there; {{here}} is this file's folder.
  command:
{command}
  # each_once: every key of the input once in the output. Else `calm`, the same input without the
  # kill; or FILE.py:FUNCTION, of a DataFrame of events.
  reference: each_once
  key: {key}
  # Where the key stands in the input, unless it is a field of that name in the value's JSON object:
  # from: {{{first}: value.order.id}}      # or `key`, the record's key
  # What else of a row is compared, with its type, where the reference is `calm` or a function:
  # columns: {{amount: double}}
  # Nothing is sent before the query has looked where it begins: its startingOffsets may be either.
  starting: latest
  # What {{python}} is, where it is not the Python that Onceproof runs on:
  {python}

workload:
{workload}

sink:
{sink}

faults:
  # In its third batch, after the offsets are written and before it is committed.
  - {{do: kill, target: driver, when: {{batch: 2}}}}
  # Later once more: a batch is in the output whole, and only its commit is lost with the driver.
  - {{do: lose, target: commit, when: {{failpoint: commit_logged, batch: 4}}}}

limits: {{run_s: 180, stall_s: 60}}
"""
