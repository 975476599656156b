"""The plugin in a suite of its own, with a stored run instead of one on a stack."""

import os
import subprocess
import sys

import pytest

SUITE = """
from dataclasses import replace
from pathlib import Path

import pytest

from onceproof import api
from onceproof.errors import RequestError

FOLDER = Path(__file__).parent


@pytest.fixture(autouse=True)
def stored(monkeypatch):
    def run(scenario, *, stack, seed=0):
        if seed > 1:
            raise RequestError(f"seed {seed} is out of range")
        assert scenario == str(FOLDER / "orders.yaml")
        assert stack == "somewhere"
        return api.judge(FOLDER / ("good", "bad")[seed])

    monkeypatch.setattr(api, "run", run)


def test_it_is_as_claimed(onceproof_run):
    assert onceproof_run("orders.yaml").verdict == "PASS"


def test_it_is_not(onceproof_run):
    onceproof_run("orders.yaml", seed=1)


def test_it_cannot_be_run(onceproof_run):
    onceproof_run("orders.yaml", seed=7)
"""


@pytest.fixture
def output(tmp_path):
    from tests.unit.handwritten_run import HandwrittenRun

    for name in ("good", "bad"):
        HandwrittenRun().write(tmp_path / name)
    (tmp_path / "bad/history.jsonl").write_text("")
    (tmp_path / "test_orders.py").write_text(SUITE)
    words = ["-q", "-p", "no:cacheprovider", "--onceproof-stack", "somewhere", str(tmp_path)]
    command = [sys.executable, "-m", "pytest", *words]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True).stdout


def test_a_run_that_is_not_as_claimed_fails_its_test_with_the_reasons(output):
    assert "2 failed, 1 passed" in output
    assert (
        "onceproof: UNKNOWN, not as claimed: window_totals__two_phase_table__kill_driver" in output
    )
    assert "\n  - " in output
    assert "bad/report.html" in output
    assert "onceproof: seed 7 is out of range" in output
    assert "Traceback" not in output


def test_loading_it_imports_nothing_else_of_ours():
    words = (
        "import sys, onceproof.api.pytest_plugin; found = {one for one in sys.modules if"
        " one.startswith('onceproof')}; print(*sorted(found))"
    )
    found = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True).stdout
    assert not {"onceproof.judging", "onceproof.stacks", "onceproof.scenario"} & {*found.split()}
