"""A new kind of output, or a new sink, is one file and one line in a registry."""

import json
import os
import subprocess
import sys

import pytest

MAILBOX = """
from onceproof.setup.checks import Check
from onceproof.sinks import Look
from onceproof.sinks.files.reader import write_rows
from onceproof.naming import whole
from onceproof.schema.kinds import NONEMPTY, Field
from onceproof.sinks.outputs import Located, Place, output
from onceproof.sinks.exact_cells import batch_of


class Nothing:
    def __init__(self, target): self.target = target
    def look(self): return Look.of([])
    def close(self): pass


def read(target, folder):
    return write_rows(target, [batch_of(target, [{"id": 7}], target.name)], folder)


def check(target):
    yield Check("output", False, f"{target.name} is full", f"empty {target.options['box']}")


Mailbox = output("mailbox", Place(
    store="any",
    named_by="box",
    example="BOX",
    options={
        "box": Field(Located(whole), "where it hangs", None),
        "stamp": Field(NONEMPTY, "what it costs", None),
    },
    location=lambda target: target.name,
    prepare=lambda _: None,
    reader=Nothing,
    read=read,
    drop=lambda _: None,
    check=check,
    starter=lambda asked: [f"stamp: {asked.key[0]}"],
))
"""
LETTERS = """
from onceproof.schema.kinds import Field
from onceproof.schema.kinds import Word
from onceproof.sinks.files.batch_folder import BatchFolder
from onceproof.sinks.protocol import Part
from onceproof.sinks.sweep import Fate, Left


class Letters(BatchFolder):
    family = "letters"
    options = {"colour": Field(Word(("red", "blue")), "what it is written in", "red")}

    def writers(self): return ["ann", "bob"]
    def left(self): return [Left("letter", Part(self.target.writer, 1, 1, 3, 0, 0), Fate.COMMIT)]
    def settle(self, left): return {"letters sent": len(left)}
"""
ADDED = "import json, sys; from onceproof import sinks; sinks.{registry}['{name}'] = '{place}'\n"
OUTPUT = """
from pathlib import Path
from onceproof.cli import carry_out
from onceproof.doctor.stack import check_output
from onceproof.scenario.catalogue import find_scenario
from onceproof.sinks import Target, find_sink

words = ["init", "--command", "python job.py b:9092 orders --checkpoint c", "--topic", "orders"]
code = carry_out([*words, "--output", "mailbox:in", "--key", "id"])
scenario = find_scenario("job.yaml")
target = Target("", "in", {"id": "bigint"}, ("id",), options=scenario.output.options)
print(json.dumps([
    code,
    dict(scenario.output.options),
    [vars(one) for one in check_output(scenario, "")],
    find_sink("mailbox")(target).read(Path("seen"))[0],
    carry_out([*words[:1], "other.yaml", *words[1:], "--output", "nothing:in", "--key", "id"]),
]))
"""
SINK = """
from onceproof.cli import carry_out
from onceproof.scenario.catalogue import find_scenario

print(find_scenario("red.yaml").output.family)
carry_out(["sweep", "here", "--writer", "bob", "--yes"])
find_scenario("green.yaml")
"""
SCENARIO = """
name: copy_events__letters__calm
pipeline: copy_events
workload: {{name: page_views}}
sink: {{name: letters, colour: {colour}}}
"""


@pytest.fixture
def run(tmp_path):
    """Runs a script with one more line in a registry; returns the finished process."""

    def start(registry, name, place, script):
        added = ADDED.format(registry=registry, name=name, place=place)
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
        command = [sys.executable, "-c", added + script]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    return start


def test_an_output_kind_is_one_file_and_one_line(run, tmp_path):
    (tmp_path / "post.py").write_text(MAILBOX)
    (tmp_path / "job.py").touch()
    done = run("OUTPUTS", "mailbox", "post:Mailbox", OUTPUT)
    assert done.returncode == 0, done.stderr
    begun, options, (check,), rows, refused = json.loads(done.stdout.splitlines()[-1])
    assert (begun, refused, rows) == (0, 3, 1)
    assert options == {"box": str(tmp_path / "in"), "stamp": "id"}
    assert (check["value"], check["remedy"]) == (f"{tmp_path}/in is full", f"empty {tmp_path}/in")
    assert "rows:FILE.py:FUNCTION, mailbox:BOX" in " ".join(done.stderr.split())


def test_a_sink_is_one_file_and_one_line(run, tmp_path):
    (tmp_path / "post.py").write_text(LETTERS)
    for colour in ("red", "green"):
        (tmp_path / f"{colour}.yaml").write_text(SCENARIO.format(colour=colour))
    done = run("SINKS", "letters", "post:Letters", SINK)
    output = " ".join(done.stdout.split())
    assert "letter 3 1 - bob:1:1:3:0:0 decided: will be committed" in output
    assert "1 letters sent." in output
    assert done.stdout.startswith("letters")
    assert "unknown value 'green'; choose one of blue, red" in done.stderr
