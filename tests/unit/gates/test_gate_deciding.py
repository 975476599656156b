"""A run counts only while everything that decided its expectation is as it was."""

import json
import shutil
import subprocess
import sys

import pytest

from onceproof.documents import read_object
from onceproof.gates.demands import demands_of, not_demanded
from onceproof.gates.verification import other_code
from onceproof.phases.plan import make_plan
from onceproof.phases.replay import plan_replay
from onceproof.scenario import deciding, find_scenario

SCENARIO = """\
name: mine__rows__calm
pipeline:
  command: ["{python}", "{here}/job.py"]
  reference: "ref.py:totals"
  key: [id]
workload: {name: records, file: records.jsonl}
sink: {name: rows, read: "reader.py:rows"}
"""
FILES = {
    "mine.yaml": SCENARIO,
    "job.py": "# the job\n",
    "ref.py": "import deciding_helper\n\ndef totals(events): return events.limit(0)\n",
    "reader.py": "def rows(target): ...\n",
    "records.jsonl": '{"value": "a"}\n',
    "deciding_helper.py": "LEAST = 1\n",
}
GENERATED = SCENARIO.replace("records, file: records.jsonl", "'events.py:events', events: 10")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = tmp_path / "mine"
    made.mkdir()
    for name, text in FILES.items():
        (made / name).write_text(text)
    (made / "events.py").write_text("def events(seed):\n    yield from map(str, range(10))\n")
    monkeypatch.syspath_prepend(str(made))
    yield made
    sys.modules.pop("deciding_helper", None)


def scenario(folder, text=SCENARIO):
    (folder / "mine.yaml").write_text(text)
    return find_scenario(str(folder / "mine.yaml"))


def planned(folder, seed=1, text=SCENARIO):
    return read_object(make_plan(scenario(folder, text), seed, folder.parent / "runs").plan)


def said(name):
    return (
        f"Its plan is not the scenario's, because {name} differs; run the scenario that the"
        " policy names"
    )


@pytest.mark.parametrize("name", ["ref.py", "reader.py", "records.jsonl", "deciding_helper.py"])
def test_a_changed_file_of_the_expectation_is_another_demand_and_other_code(folder, name):
    old = planned(folder)
    assert not_demanded(old, demands_of(scenario(folder))) == ""
    (folder / name).write_text(FILES[name] + "\n")
    assert not_demanded(old, demands_of(scenario(folder))) == said(name)
    found = other_code(old, planned(folder, 2), "run_2")
    assert found.endswith(f"which has the same version: {name} of its expectation differs")


def test_a_changed_function_of_the_workload_is_another_demand(folder):
    old = planned(folder, text=GENERATED)
    assert not_demanded(old, demands_of(scenario(folder, GENERATED))) == ""
    (folder / "events.py").write_text("def events(seed):\n    yield from 'abcdefghij'\n")
    assert not_demanded(old, demands_of(scenario(folder, GENERATED))) == said("events.py")


def test_changed_suites_are_another_demand(folder, monkeypatch):
    old = planned(folder)
    suites = folder.parent / "suites"
    shutil.copytree(deciding.expectations_folder(), suites)
    suite = read_object(suites / "differences.json") | {"expectations": []}
    (suites / "differences.json").write_text(json.dumps(suite))
    monkeypatch.setattr(deciding, "expectations_folder", lambda: suites)
    assert not_demanded(old, demands_of(scenario(folder))) == said("the suites")


def test_a_plan_whose_suites_were_weakened_is_no_run_of_the_scenario(folder):
    weak = planned(folder) | {"expectations": {}}
    assert not_demanded(weak, demands_of(scenario(folder))) == said("the suites")


def test_our_own_references_belong_to_the_demands_of_every_scenario(folder, monkeypatch):
    old = planned(folder)
    monkeypatch.setattr(deciding, "_PACKAGE", package := folder.parent / "onceproof")
    for name in ("references", "workloads"):
        shutil.copytree(deciding.Path(deciding.__file__).parents[1] / name, package / name)
    assert not_demanded(old, demands_of(scenario(folder))) == ""
    (package / "references/declared.py").write_text("# harder\n")
    assert not_demanded(old, demands_of(scenario(folder))) == said("onceproof.references")


def test_a_plan_that_does_not_say_what_decided_it_counts_no_more(folder):
    old = planned(folder)
    old["decided_by"] = {}
    assert "records.jsonl, ref.py" in not_demanded(old, demands_of(scenario(folder)))


def test_the_same_files_in_another_folder_are_the_same_demands(folder):
    old = planned(folder)
    shutil.copytree(folder, folder.parent / "there")
    assert not_demanded(old, demands_of(scenario(folder.parent / "there"))) == ""


def test_a_run_that_is_carried_out_again_is_decided_by_the_files_of_now(folder):
    run = make_plan(scenario(folder), 1, folder.parent / "runs")
    before = read_object(run.plan)["decided_by"]
    (folder / "ref.py").write_text("def totals(events): return events\n")
    after = read_object(plan_replay(run, folder.parent / "runs").plan)["decided_by"]
    assert {name for name in after if before[name] != after[name]} == {"ref.py"}


def git(folder, *words):
    asks = ["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", *words]
    subprocess.run(asks, check=True, capture_output=True)


def test_changes_in_the_repository_of_the_reference_make_the_version_dirty(folder):
    other = folder.parent / "job"
    other.mkdir()
    shutil.move(folder / "job.py", other / "job.py")
    for repository in (folder, other):
        git(repository, "init", "-q")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "all")
    text = SCENARIO.replace("{here}/job.py", str(other / "job.py"))
    (folder / "mine.yaml").write_text(text)
    git(folder, "commit", "-qam", "the job is elsewhere")
    (folder / ".gitignore").write_text("__pycache__\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "more")
    assert not planned(folder, text=text)["subject"].endswith("+dirty")
    (folder / "ref.py").write_text("def totals(events): return events\n")
    assert planned(folder, 2, text)["subject"].endswith("+dirty")
