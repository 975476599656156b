"""The tutorial, with each file, each command, and the output that it shows.

Its job imports nothing of Onceproof: as it is it doubles rows, and once corrected it passes.
`make prove PART=strangers` runs more such jobs.
"""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from jsonschema import validate

from onceproof.gates.verification import trouble_of
from onceproof.past.store import open_store
from onceproof.runs.history import History
from onceproof.runs.records import Op
from tests.system.command import SCHEMAS

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
TUTORIAL = Path(__file__).parents[2] / "docs/test-a-job/tutorial.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
EXITS = [0, 1, 0, 0]  # explained, red, looked at, green


def typed(text: str, folder: Path, stack: Path) -> subprocess.CompletedProcess[str]:
    """Run a block of commands on an existing stack."""
    program = Path(sys.executable).parent
    env = os.environ | {"PATH": f"{program}:{os.environ['PATH']}", "COLUMNS": "80"}
    words = text.replace("onceproof run", f"onceproof run --home {stack}")
    return subprocess.run(
        ["bash", "-c", words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=env,
        check=False,
        timeout=280,
    )


def test_the_commands_print_the_output_in_the_tutorial(stack, tmp_path):
    done, exits = None, iter(EXITS)
    for kind, text in BLOCKS:
        if kind == "sh":
            done = typed(text, tmp_path, stack.state.folder)
            assert done.returncode == next(exits), done.stdout + done.stderr
        elif kind == "text":
            for line in text.splitlines():
                pattern = ".+".join(map(re.escape, line.split("...")))
                assert re.search(pattern, done.stdout), (line, done.stdout)
        else:
            name, _, rest = text.removeprefix("# file: ").partition("\n")
            (tmp_path / name).write_text(rest)
    assert next(exits, None) is None
    red, green = documents(tmp_path / "runs")
    assert (red["verdict"], green["verdict"]) == ("FAIL", "PASS")
    assert_rows_are_doubled(red)
    assert_the_commit_was_lost(green)
    assert_the_jobs_files_are_recorded(green)
    entries = open_store(tmp_path / "runs/history.sqlite").entries()
    recorded = {(one.verdict, one.is_proved, one.landed) for one in entries}
    assert recorded == {("FAIL", False, 1), ("PASS", True, 2)}
    # Evidence that changed after it was recorded would be trouble.
    assert [trouble_of(one) for one in entries] == [""] * 2


def documents(runs: Path) -> list[dict]:
    """Return the verdicts of both runs in their order, valid by the schema."""
    found = [json.loads(one.read_text()) for one in runs.glob("*/*/verdict.json")]
    for one in found:
        validate(one, json.loads((SCHEMAS / "verdict.json").read_text()))
    return sorted(found, key=lambda one: one["run"])


def assert_rows_are_doubled(found: dict) -> None:
    extra = found["differences"]["duplicated"]
    assert found["counts"]["observed"] == found["counts"]["expected"] + extra
    blamed = [one for one in found["blame"] if one["class"] == "duplicated"]
    assert {one["fault"] for one in blamed} == {"kill_driver"}


def assert_the_commit_was_lost(found: dict) -> None:
    records = History(Path(found["run"]) / "history.jsonl").read()
    strikes = [one for one in records if one.op is Op.FAULT_STRIKE and one.is_ok]
    (lost,) = (one for one in strikes if one.proof.get("damage") == "commit_lost")
    assert lost.proof["files"][f"commits/{lost.batch}"]["after"] is None


def assert_the_jobs_files_are_recorded(found: dict) -> None:
    ran_on = found["ran_on"]
    assert (ran_on["unknown"], found["versions"]["spark"]) == ([], version("pyspark"))
    assert any(name.endswith("orders.py") for name in ran_on["files"])
    assert f"spark-sql_2.13-{version('pyspark')}.jar" in ran_on["jars"]
