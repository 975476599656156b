"""Suites that a scenario names: files, suites of a project, and functions of the user's."""

import json
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from onceproof.errors import RequestError
from onceproof.gates.demands import demands_of, not_demanded
from onceproof.phases.plan import make_plan
from onceproof.phases.replay import plan_replay
from onceproof.runs.plan import Plan
from onceproof.runs.suites import suites_in
from onceproof.scenario import Scenario, find_scenario
from onceproof.scenario.deciding import suites_digest
from onceproof.scenario.model import fields_of
from onceproof.scenario.suite_process import answer
from onceproof.scenario.suites import OwnSuite, checked
from tests.repo.tree import ROOT

# Great Expectations and its libraries use deprecated functions.
pytestmark = pytest.mark.filterwarnings("ignore")
SCENARIO = """\
name: mine__rows__calm
pipeline: {command: ["{python}", "{here}/job.py"], reference: each_once, key: [id]}
workload: {name: template, value: {id: id}}
sink: {name: rows, read: "reader.py:rows"}
expectations: SUITES
"""
MESSAGES = {"result": "its result is of type int, not a suite; use an object with expectations"}
UNIQUE = {"type": "expect_column_values_to_be_unique", "kwargs": {"column": "id"}}
MAXIMUM = {"type": "expect_column_max_to_be_between", "kwargs": {"column": "n", "max_value": 9.0}}
OF_A_PROJECT = {"id": "7", "name": "orders", "expectations": [{**MAXIMUM, "severity": "critical"}]}
PROJECT = """\
config_version: 4
stores:
  mine:
    class_name: ExpectationsStore
    store_backend: {class_name: KIND, base_directory: expectations/}
expectations_store_name: mine
"""
CHECKS = """\
import great_expectations as gx

print("a line of the function's")

def build():
    suite = gx.ExpectationSuite(name="built")
    column = open("column.txt").read()
    suite.add_expectation(gx.expectations.ExpectColumnMaxToBeBetween(column=column, max_value=9))
    return suite

def as_json():
    unique = {"type": "expect_column_values_to_be_unique", "kwargs": {"column": "id"}}
    return {"expectations": [unique]}

def leaves(): raise SystemExit(0)
def raises(): raise KeyError("amount")
def left_out(): return gx.ExpectationSuite("x", [{"type": "expect_x", "kwargs": {}}])
def nan(): return {"expectations": [{"type": "expect_x", "kwargs": {"n": float("nan")}}]}
constant = 3
"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "mine"
    project = made / "shop/gx"
    (project / "expectations/daily").mkdir(parents=True)
    for name in ("orders", "daily/orders"):
        (project / f"expectations/{name}.json").write_text(json.dumps(OF_A_PROJECT))
    configured = PROJECT.replace("KIND", "TupleFilesystemStoreBackend")
    (project / "great_expectations.yml").write_text(configured)
    (made / "s3").mkdir()
    (made / "s3/great_expectations.yml").write_text(PROJECT.replace("KIND", "TupleS3StoreBackend"))
    (made / "unique.json").write_text(json.dumps({"name": "unique", "expectations": [UNIQUE]}))
    (made / "checks.py").write_text(CHECKS)
    (made / "column.txt").write_text("n")
    (made / "reader.py").write_text("def rows(target): ...\n")
    return made


def scenario(folder, suites):
    text = suites if isinstance(suites, str) else json.dumps(suites)
    (folder / "mine.yaml").write_text(SCENARIO.replace("SUITES", text))
    return find_scenario(str(folder / "mine.yaml"))


def planned(folder, suites):
    return Plan.read(make_plan(scenario(folder, suites), 1, folder.parent / "runs").plan)


def own(plan):
    return [(on, one) for on, one in suites_in(plan.expectations) if "source" in one]


def refused(folder, suites):
    with pytest.raises(RequestError) as caught:
        scenario(folder, suites)
    return str(caught.value)


def test_one_suite_needs_no_list_and_is_relative_to_the_file(folder):
    (one,) = scenario(folder, "unique.json").expectations
    assert one == OwnSuite(f"{folder}/unique.json")


def test_a_plan_has_the_suites_of_files_and_projects_by_their_rows(folder):
    sent = {"suite": "unique.json", "rows": "input"}
    of_project = [
        {"project": "shop", "suite": "orders"},
        {"project": "shop/gx", "suite": "daily.orders"},
    ]
    plan = planned(folder, [sent, "unique.json", *of_project])
    assert [(on, one["name"], one["expectations"]) for on, one in own(plan)] == [
        ("output", "unique", [UNIQUE]),
        ("output", "orders", [MAXIMUM]),
        ("output", "orders", [MAXIMUM]),
        ("input", "unique", [UNIQUE]),
    ]
    assert plan.expectations["differences"]["name"] == "differences"


def test_the_example_of_the_page_is_a_scenario(folder):
    page = (ROOT / "docs/test-a-job/expectations.md").read_text()
    (folder / "orders.yaml").write_text(page.partition("```yaml\n")[2].partition("```")[0])
    shutil.move(folder / "shop/gx", folder / "gx")
    for name in ("orders.json", "sent.json"):
        (folder / name).write_text(json.dumps(OF_A_PROJECT))
    found = find_scenario(str(folder / "orders.yaml")).expectations
    assert found == (
        OwnSuite(f"{folder}/orders.json"),
        OwnSuite("orders", f"{folder}/gx"),
        OwnSuite(f"{folder}/checks.py:build"),
        OwnSuite(f"{folder}/sent.json", on="input"),
    )


def test_a_function_builds_a_suite_in_the_folder_of_its_file(folder):
    ((_, one),) = own(planned(folder, "checks.py:build"))
    assert (one["name"], one["expectations"]) == ("built", [MAXIMUM])
    assert "error" not in one


def test_a_function_that_ends_its_process_is_an_error_of_the_suite(folder):
    ((_, one),) = own(planned(folder, "checks.py:leaves"))
    assert (one["name"], one["expectations"]) == (f"{folder}/checks.py:leaves", [])
    assert one["error"] == "its function exited with code 0: a line of the function's"


def test_a_function_of_a_module_may_return_json(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    assert answer("checks:as_json") == {"suite": {"expectations": [UNIQUE]}}
    assert checked({"expectations": [UNIQUE]}, "as_json", "")["name"] == "as_json"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raises", "KeyError: 'amount'"),
        ("nothing", "has no attribute 'nothing'"),
        ("constant", "it is not a function; write one that returns the suite"),
        ("left_out", "Great Expectations left out an expectation: Could not add expectation"),
        ("nan", "ValueError: Out of range float values are not JSON compliant"),
    ],
)
def test_a_function_that_builds_no_suite_is_reported(folder, name, message):
    assert message in answer(f"{folder}/checks.py:{name}")["error"]


def test_another_result_than_a_suite_is_refused():
    with pytest.raises(RequestError, match=re.escape(MESSAGES["result"])):
        checked(3, "number", "its result")


def test_a_file_that_is_gone_when_the_plan_is_made_is_an_error_of_the_suite(folder):
    asked = scenario(folder, "unique.json")
    (folder / "unique.json").unlink()
    plan = Plan.read(make_plan(asked, 1, folder.parent / "runs").plan)
    ((_, one),) = own(plan)
    assert one["error"].startswith(f"{folder}/unique.json does not exist")


MISTAKES = [
    ('"none.json"', ": {folder}/none.json does not exist; write a path relative to the"),
    ('"none.py:build"', ": {folder}/none.py does not exist"),
    ("orders", ": invalid suite 'orders'; use FILE.json, FILE.py:function or module:function, or"),
    (
        "{project: shop, suite: order}",
        "unknown suite of the project {folder}/shop 'order'; did you",
    ),
    ("{project: ., suite: orders}", ": {folder} has no great_expectations.yml; write the folder"),
    ("{project: s3, suite: orders}", "keeps its suites in a TupleS3StoreBackend; return this one"),
    ("{project: shop}", ": suite is missing; write suite: ..."),
    (
        "{suite: unique.json, rows: both}",
        ".rows: unknown value 'both'; choose one of input, output",
    ),
    (
        "{suite: unique.json, on: input}",
        ".on: unknown key 'on'; choose one of project, rows",
    ),
    ("3", ": invalid value 3; use a text, in quotes"),
]
SUITES = [
    ("[]", "suite.json is a JSON list, not an object"),
    ("{", "suite.json is not JSON, or was cut short"),
    ('{"name": "x"}', "suite.json has no list of expectations; write"),
    ('{"expectations": []}', "has no list of expectations; write"),
    ('{"expectations": [3]}', "expectations[0] of {folder}/suite.json has no type; write"),
    ('{"expectations": [{"expectation_type": "expect_x"}]}', "has no type; write"),
    ('{"expectations": [{"type": "expect_x", "kwargs": []}]}', "has kwargs []; write an object"),
    ('{"expectations": [{"type": "expect_x", "meta": "a"}]}', "has meta 'a'; write an object"),
    (
        '{"expectations": [{"type": "expect_x", "meta": {"anomaly": "duplicate"}}]}',
        "unknown anomaly 'duplicate'; did you mean 'duplicated'?",
    ),
    (
        '{"expectations": [{"type": "expect_x", "kwargs": {"a": [{"$PARAMETER": "onec"}]}}]}',
        "unknown $PARAMETER 'onec'; did you mean 'once'?",
    ),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES)
def test_a_mistake_is_refused_with_its_line_and_key(folder, given, message):
    said = refused(folder, f"\n  - unique.json\n  - {given}")
    assert re.match(r"\S+/mine.yaml:7: expectations\[1\]", said), said
    assert message.replace("{folder}", str(folder)) in said


@pytest.mark.parametrize(("text", "message"), SUITES)
def test_a_file_that_is_no_suite_is_refused(folder, text, message):
    (folder / "suite.json").write_text(text)
    said = refused(folder, "suite.json")
    assert "/mine.yaml:5: expectations: " in said
    assert message.replace("{folder}", str(folder)) in said


def test_all_mistakes_are_listed_at_once(folder):
    assert "has 2 mistakes" in refused(folder, "[none.json, unique.json, orders]")


def test_the_fields_of_a_scenario_and_of_its_plan_have_the_suites(folder):
    sent = {"suite": "unique.json", "rows": "input"}
    suites = [sent, {"project": "shop", "suite": "orders"}, sent]
    asked = scenario(folder, suites)
    assert Scenario.of(asked.fields(), folder="/").expectations == asked.expectations
    plan = planned(folder, suites)
    assert Scenario.of(fields_of(plan), folder="/").expectations == asked.expectations


def test_a_replay_has_the_suites_of_the_run(folder):
    run = make_plan(scenario(folder, "unique.json"), 1, folder.parent / "runs")
    (folder / "unique.json").unlink()
    plan, again = Plan.read(run.plan), Plan.read(plan_replay(run, folder.parent / "runs").plan)
    assert again.expectations == plan.expectations
    assert again.decided_by == plan.decided_by


def test_a_run_counts_for_the_gate_only_while_its_suites_are_the_same(folder):
    plan = planned(folder, "unique.json").document
    assert not_demanded(plan, demands_of(scenario(folder, "unique.json"))) == ""
    (folder / "unique.json").write_text(json.dumps({"name": "unique", "expectations": [MAXIMUM]}))
    assert "the suites differs" in not_demanded(plan, demands_of(scenario(folder, "unique.json")))
    assert "expectations" in not_demanded(plan, demands_of(scenario(folder, "[]")))


def test_the_digest_of_suites_does_not_depend_on_their_place(folder):
    def digest(**changes):
        suite = {"name": "a", "expectations": [UNIQUE], "source": {"suite": "/a.json"}}
        return suites_digest({"output": [suite | changes]})

    assert digest() == digest(source={"suite": "/b.json"})
    assert digest() != digest(expectations=[MAXIMUM])


def test_reading_a_scenario_imports_neither_the_function_nor_great_expectations(folder):
    code = textwrap.dedent(f"""
        import sys
        from onceproof.scenario import find_scenario
        find_scenario({str(folder / "mine.yaml")!r})
        assert "great_expectations" not in sys.modules
    """)
    scenario(folder, ["checks.py:build", "unique.json"])
    subprocess.run([sys.executable, "-c", code], check=True)
