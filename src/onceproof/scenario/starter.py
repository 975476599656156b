"""The first scenario of a user's job: a commented file, made from the command that starts it.

Brokers, topic, checkpoint, store and output in the command become placeholders, so that a run has
its own of each and does not touch the user's.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from onceproof.errors import RequestError, invalid
from onceproof.scenario.commands import has_lone_bracket
from onceproof.sinks import OUTPUTS
from onceproof.sinks.outputs import InitOutput, place_of

_PLACEHOLDER_BY_FORM = {
    "bootstrap": re.compile(r"[\w.-]+:\d{2,5}(,[\w.-]+:\d{2,5})*"),
    "jdbc": re.compile(r"jdbc:postgresql:\S+"),
    "address": re.compile(r"postgres(ql)?://\S+"),
}
# Removed: the stack determines where a job runs, and flags in the command would override it.
_OF_THE_CLUSTER = ("--master", "--deploy-mode")
_PYTHON = re.compile(r"python[\d.]*")
_SENT_WITHIN_S = 10
_WHY_SLOWLY = "# a second, so that the job has several batches"
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Answers:
    """A user's answers. `output` is `KIND:PLACE`, `records` a file of sample records."""

    command: str
    topic: str
    output: str
    key: Sequence[str]
    records: str = ""

    @property
    def kind(self) -> str:
        """The kind of the output: one of `OUTPUTS`."""
        return self.output.partition(":")[0]

    @property
    def place(self) -> str:
        """The output's place, as in the command; empty if the command contains {target}."""
        return self.output.partition(":")[2]

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise RequestError(f"invalid command {self.command!r}: {error}") from None

    @property
    def pipeline(self) -> str:
        """The job's name: that of its first Python file, else of its program."""
        files = [word for word in self.words if word.endswith((".py", ".jar"))]
        name = _NO_LETTERS.sub("_", Path((files or self.words)[0]).stem.lower()).strip("_")
        return name if name[:1].isalpha() else f"job_{name}".rstrip("_")


def kinds() -> str:
    """Return the forms of an output: `KIND:PLACE` of each kind."""
    return ", ".join(f"{name}:{place_of(name).example}" for name in OUTPUTS)


def starter(answers: Answers, here: Path) -> str:
    """Return the text of the scenario file for the folder `here`."""
    _refuse_wrong(answers)
    python, command = _interpreter(_command(answers, here))
    if absent := [name for name in NEEDED if not any(f"{{{name}}}" in one for one in command)]:
        names = ", ".join(f"{{{name}}} for {NEEDED[name]}" for name in absent)
        raise RequestError(
            f"the command {shlex.join(command)} lacks {names}; add them, as each run has its own"
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
        raise RequestError("the command is empty; write the words that start the job")
    if answers.kind not in OUTPUTS:
        raise RequestError(invalid("output", answers.output, f"one of {kinds()}"))
    if "," in answers.topic or not answers.topic:
        raise RequestError(invalid("topic", answers.topic, "one topic"))
    if not answers.key or not all(answers.key):
        raise RequestError("the key is empty; write the key columns of the output")


def _command(answers: Answers, here: Path) -> list[str]:
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
    """Return a word with its value, or the value behind its `=`, as a placeholder."""
    if re.search(r"\{\w+\}", word) and not has_lone_bracket(word):
        return word
    is_flag = re.match(r"--?[\w-]+=", word)
    flag, sign, value = word.partition("=") if is_flag else (before, "", word)
    found = _placeholder(flag, value, answers)
    if found is None and Path(value).is_file() and not Path(value).is_absolute():
        found = f"{{here}}/{os.path.relpath(Path(value).resolve(), here.resolve())}"
    if found is None:
        found = value.replace("{", "{{").replace("}", "}}")
    return f"{flag}={found}" if sign else found


def _placeholder(flag: str, value: str, answers: Answers) -> str | None:
    if value == answers.topic:
        return "{topic}"
    if answers.place and value == answers.place and place_of(answers.kind).named_by:
        return "{target}"
    if flag.startswith("-") and "checkpoint" in flag.lower():
        return "{checkpoint}"
    forms = (name for name, form in _PLACEHOLDER_BY_FORM.items() if form.fullmatch(value))
    return next((f"{{{name}}}" for name in forms), None)


def _workload(answers: Answers, here: Path) -> Iterator[str]:
    if not answers.records:
        first, *others = answers.key
        fields = {first: "id", **dict.fromkeys(others, "int 1 100"), "amount": "int 1 100"}
        yield "name: template"
        yield "# A record is a JSON object of these fields. Write those that your job needs."
        yield f"value: {json.dumps(fields, ensure_ascii=False)}"
        yield "events: 10000"
        yield f"rate: 500   {_WHY_SLOWLY}"
        return
    path = Path(answers.records)
    if not path.is_file():
        raise RequestError(f"file of records {answers.records} does not exist; write JSON lines")
    try:
        count = sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} cannot be read ({error}); use UTF-8") from None
    yield "name: records"
    yield f"file: {json.dumps(os.path.relpath(path.resolve(), here.resolve()))}"
    yield "# Each line once. With more events the file and its keys are sent again."
    yield f"rate: {max(1, count // _SENT_WITHIN_S)}   {_WHY_SLOWLY}"


def _sink(answers: Answers, here: Path, *, is_own: bool) -> Iterator[str]:
    place = place_of(answers.kind)
    yield f"name: {answers.kind}"
    if place.named_by and is_own:
        yield "# A run has its own, which the command gets as {target}."
    elif place.named_by:
        yield "# The command does not contain the output, so the job's own output is read."
        yield f"{place.named_by}: {json.dumps(answers.place or 'NAME')}"
        if "empty" in place.options:
            yield "# empty: true   # if it may be emptied before each run"
    yield from place.starter(InitOutput(answers.place, answers.key, here, is_own))


# Placeholders that a command must contain, since each run has its own.
NEEDED = {
    "bootstrap": "the brokers' addresses",
    "topic": "the topic that it reads",
    "checkpoint": "the folder of its checkpoint",
}
TEXT = """\
# The driver of this job is killed twice in the middle of its work and restarted from its
# checkpoint; then every key of the input must be in the output exactly once.
#
#   onceproof doctor THIS_FILE     check requirements before anything starts
#   onceproof explain THIS_FILE    describe what a run does and how it is judged
#   onceproof run THIS_FILE        run and judge it
name: {pipeline}__{kind}__crashes

pipeline:
  # Started in the run's directory. Curly brackets are filled in for each run, so the job reads a
  # topic of the run and has its checkpoint there; {{here}} is this file's folder.
  command:
{command}
  # each_once: every key of the input once in the output. Or `calm`: the same input without faults;
  # or FILE.py:FUNCTION, of a DataFrame of events.
  reference: each_once
  key: {key}
  # The place of the key in the input, unless it is a field of that name in the value's JSON object:
  # from: {{{first}: value.order.id}}      # or `key`, the record's key
  # Other compared columns with their types, if the reference is `calm` or a function:
  # columns: {{amount: double}}
  # Nothing is sent before the query has its first offsets: its startingOffsets may be either.
  starting: latest
  # The interpreter of {{python}}, if it is not that of Onceproof:
  {python}

workload:
{workload}

sink:
{sink}

faults:
  # In its third batch, after the offsets are written and before it is committed.
  - {{do: kill, target: driver, when: {{batch: 2}}}}
  # Later again: a batch is in the output, and only its commit is lost with the driver.
  - {{do: lose, target: commit, when: {{failpoint: commit_logged, batch: 4}}}}

limits: {{run_s: 180, stall_s: 60}}
# For a job that ends by itself and is started again by a scheduler (Trigger.AvailableNow):
# lives: in_turns
"""
