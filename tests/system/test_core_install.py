"""The wheel without extras: all commands that read, compare and judge.

uv makes its environment from the wheel and the hashes of the lock.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hatchling.builders.wheel import WheelBuilder
from pyarrow import parquet

from onceproof.setup.libraries import LIBRARIES
from tests.plugins.two_nights import CALM, NEWLY_RED, make_two_nights
from tests.repo.tree import ROOT
from tests.system.test_gate import GATE

pytestmark = pytest.mark.system
UV = Path(sys.executable).parent / "uv"
GREEN, RED = "git:9f2c41d07ab3", "git:4be1f70a9c21"
POLICY = ("--policy", "gate.yaml", "--version")
# Its values are drawn once while the file is read.
ORDERS = """
name: orders__table__kill_driver
pipeline:
  command: [spark-submit, "{here}/orders.py", "--brokers={bootstrap}", "--topic={topic}",
    "--checkpoint={checkpoint}", "--table={target}"]
  reference: each_once
  key: [order_id]
workload: {name: template, value: {order_id: id, at: timestamp}, key: order_id, delivery_s: 9}
sink: table
faults: [{do: kill, target: driver, when: {visible: 50, batch: 3}}]
"""
FOUND = "import importlib.util as u; print([one for one in {!r} if u.find_spec(one)])"


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """Call commands of a core install, in a folder with two nights of runs outside the clone."""
    folder = tmp_path_factory.mktemp("core")
    work = folder / "work"
    make_two_nights(work / "runs")
    (work / "orders.yaml").write_text(ORDERS)
    (work / "calm.yaml").write_text(f"require: [{{scenario: {CALM}}}]\n")
    python = install(folder)

    def call(*words, program=None):
        command = [program or python.with_name("onceproof"), *words]
        return subprocess.run(
            command, cwd=work, env=clean(), capture_output=True, text=True, check=False
        )

    call.python, call.work = python, work
    return call


def install(folder):
    """Make an environment with the wheel, with the hashes of the lock."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    wanted = folder / "wanted.txt"
    digest = hashlib.sha256(Path(wheel).read_bytes()).hexdigest()
    wanted.write_text(f"onceproof @ {Path(wheel).as_uri()} --hash=sha256:{digest}\n")
    python = folder / "venv/bin/python"
    lock = ["--require-hashes", "--requirement", wanted, "--constraint", ROOT / "requirements.lock"]
    for words in (
        ["venv", "--python", sys.executable, folder / "venv"],
        ["pip", "install", "--python", python, *lock],
    ):
        done = subprocess.run(
            [UV, *words], env=clean() | index(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return python


def index():
    """Return the variable by which uv uses the index of pip's configuration, if there is one."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return {"UV_DEFAULT_INDEX": done.stdout.strip()} if done.stdout.strip() else {}


def clean():
    """Return the environment of this process without variables of its Python and of Onceproof."""
    strange = ("PYTHON", "VIRTUAL_ENV", "ONCEPROOF_", "AIRFLOW")
    return {name: value for name, value in os.environ.items() if not name.startswith(strange)}


def test_it_has_no_library_of_an_extra(core):
    names = [one.module for one in LIBRARIES]
    assert core("-c", FOUND.format(names), program=core.python).stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "code", "printed"),
    [
        (["list"], 0, r"(?m)^copy_events__two_phase_topic__calm +exactly-once +PASS"),
        (["show", NEWLY_RED], 0, r"(?m)^ +client: kafka-python$"),
        (["explain", NEWLY_RED], 0, r"Struck\n  kill_driver: kill the driver; trigger: failpoint"),
        (["show", "orders.yaml"], 0, r"(?m)^ +client: confluent$"),
        (["explain", "orders.yaml"], 0, r"(?m)^  20,000 events of template"),
        (["history"], 0, rf"(?m)^\S+ +new red +FAIL +{NEWLY_RED} +7 +{RED}"),
        (
            ["gate", *POLICY, GREEN],
            2,
            rf"The gate for {GREEN} is closed: not enough evidence",
        ),
        (["gate", *POLICY, RED], 1, rf"The gate for {RED} is closed: a run failed"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else None,
)
def test_it_reads_scenarios_and_the_history(core, words, code, printed):
    done = core(*words)
    assert (done.returncode, done.stderr) == (code, "")
    assert re.search(printed, done.stdout), done.stdout


def test_it_opens_the_gate_for_runs_as_claimed(core):
    # handwritten runs are not compared with the requirements of a scenario
    done = core(
        "-c", GATE, "gate", "--policy", "calm.yaml", "--version", GREEN, program=core.python
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "open" in done.stdout


@pytest.mark.parametrize(("scenario", "code"), [(CALM, 0), (NEWLY_RED, 1)])
def test_it_judges_a_run(core, scenario, code):
    run = max((core.work / "runs" / scenario).iterdir())
    done = core("judge", run, "--json")
    assert (done.returncode, done.stderr) == (code, "")
    assert json.loads(done.stdout)["verdict"] == ("PASS", "FAIL")[code]


def test_it_compares_files(core, tmp_path):
    for name, rows in (("expected", [1, 2, 3]), ("observed", [1, 2, 2])):
        parquet.write_table(pa.table({"id": rows}), tmp_path / f"{name}.parquet")
    sides = [tmp_path / f"{name}.parquet" for name in ("expected", "observed")]
    done = core("diff", *sides, "--key", "id")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("Different: 1 lost, 1 duplicated")
    assert core("diff", sides[0], sides[0]).returncode == 0


@pytest.mark.parametrize(
    ("words", "extras"),
    [
        (["run", NEWLY_RED], "spark,kafka,postgres"),
        (["run", "copy_events__batch_folder__calm"], "spark,kafka"),
        (["diff", "a.parquet", "a.parquet", "--engine", "spark"], "spark"),
        (["diff", "postgresql://u@127.0.0.1:1/d#a", "postgresql://u@127.0.0.1:1/d#a"], "postgres"),
        (["up"], "spark"),
        (["doctor"], "spark,kafka,postgres"),
        (["doctor", NEWLY_RED], "spark,kafka,postgres"),
    ],
    ids=lambda one: " ".join(one[:2]) if isinstance(one, list) else None,
)
def test_a_command_that_needs_an_extra_names_it(core, words, extras):
    done = core(*words)
    assert done.returncode == 3
    assert f"pip install 'onceproof[{extras}]'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
