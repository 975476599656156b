"""The DAGs as Airflow parses them: dependencies, forms, and no heavy imports."""

import json
import os
import subprocess
import sys

import pytest

from tests.repo.tree import ROOT

READ = """
import json, sys, time
began = time.monotonic()
import airflow.sdk
import airflow.providers.standard.operators.trigger_dagrun, airflow.sdk.execution_time.xcom
sdk = time.monotonic() - began
import runpy
found = runpy.run_path({path!r})
(dag,) = (one for one in found.values() if isinstance(one, airflow.sdk.DAG))
json.dump({{
    "seconds": time.monotonic() - began - sdk,
    "modules": sorted({{name.partition(".")[0] for name in sys.modules}}),
    "arrows": {{one.task_id: sorted(one.downstream_task_ids) for one in dag.tasks}},
    "rules": {{one.task_id: one.trigger_rule for one in dag.tasks}},
    "retries": [one.retries for one in dag.tasks],
    "teardowns": [one.task_id for one in dag.tasks if one.is_teardown],
    "red_with": [one.task_id for one in dag.tasks if one.on_failure_fail_dagrun],
    "setups": [one.task_id for one in dag.tasks if one.is_setup],
    "undescribed": [name for name in dag.params if not dag.params.get_param(name).description],
    "params": {{name: dag.params.get_param(name).schema for name in dag.params}},
    "defaults": {{name: dag.params[name] for name in ("tags", "scenarios") if name in dag.params}},
    "at_once": dag.max_active_runs,
    "schedule": str(dag.schedule),
}}, sys.stdout, default=str)
"""
HEAVY = {"duckdb", "great_expectations", "kafka", "pandas", "psycopg", "pyarrow", "pyspark"}
DAGS = ("onceproof_run", "onceproof_nightly", "onceproof_gate")


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Parse a DAG's file in a process of its own."""
    home = tmp_path_factory.mktemp("airflow")
    found = {}

    def of(name, **env):
        if (name, *env.items()) not in found:
            code = READ.format(path=str(ROOT / f"dags/{name}.py"))
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", code],
                capture_output=True,
                text=True,
                check=False,
                env=os.environ | {"AIRFLOW_HOME": str(home)} | env,
            )
            assert done.returncode == 0, done.stderr
            found[name, *env.items()] = json.loads(done.stdout.splitlines()[-1])
        return found[name, *env.items()]

    return of


def test_a_run_has_the_arrows_of_its_phases(read):
    assert read("onceproof_run")["arrows"] == {
        "plan": ["prepare", "release"],
        "prepare": ["disturb", "process", "produce"],
        "produce": ["observe"],
        "process": ["observe"],
        "disturb": ["observe"],
        "observe": ["recompute"],
        "recompute": ["compare"],
        "compare": ["validate"],
        "validate": ["judge"],
        "judge": ["release"],
        "release": [],
    }


def test_a_run_is_judged_after_any_failure_and_released_by_its_teardown(read):
    found = read("onceproof_run")
    assert found["rules"]["judge"] == "all_done"
    assert (found["setups"], found["teardowns"]) == (["plan"], ["release"])
    assert found["red_with"] == ["release"]  # also where Airflow has skipped the judge


def test_a_night_is_summed_up_after_any_failure(read):
    found = read("onceproof_nightly")
    assert found["arrows"] == {"pick": ["run"], "run": ["summary"], "summary": []}
    assert found["rules"]["summary"] == "all_done"


def test_a_closed_gate_fails_unless_a_person_approves(read):
    found = read("onceproof_gate")
    assert found["arrows"] == {
        "decide": ["route"],
        "route": ["approval", "gate"],
        "approval": ["gate"],
        "gate": [],
    }
    assert found["rules"]["gate"] == "none_failed_min_one_success"


@pytest.mark.parametrize("name", DAGS)
def test_airflow_retries_no_task(read, name):
    assert set(read(name)["retries"]) == {0}


@pytest.mark.parametrize("name", DAGS)
def test_every_field_of_the_form_is_described(read, name):
    assert read(name)["undescribed"] == []


@pytest.mark.parametrize("name", DAGS)
def test_parsing_a_dag_imports_no_heavy_module(read, name):
    assert set(read(name)["modules"]) & HEAVY == set()


def test_runs_follow_one_another_by_default(read):
    assert read("onceproof_run")["at_once"] == 1
    assert read("onceproof_run", ONCEPROOF_AT_ONCE="3")["at_once"] == 3


def test_the_night_has_a_default_schedule(read):
    assert "0 2 * * *" in read("onceproof_nightly")["schedule"]
    assert read("onceproof_nightly", ONCEPROOF_SCHEDULE="")["schedule"] == "None"


def test_the_form_offers_the_tags_of_the_catalogue(read):
    tags = read("onceproof_nightly")["params"]["tags"]
    assert tags["items"]["enum"] == ["control", "full", "late", "nightly", "quick"]


def test_the_environment_names_the_scenarios_of_a_scheduled_night(read):
    assert read("onceproof_nightly")["defaults"] == {"tags": ["nightly"], "scenarios": []}
    ours = {"ONCEPROOF_TAGS": "", "ONCEPROOF_SCENARIOS": "/srv/a.yaml, /srv/b.yaml::orders__calm"}
    scenarios = ["/srv/a.yaml", "/srv/b.yaml::orders__calm"]
    assert read("onceproof_nightly", **ours)["defaults"] == {"tags": [], "scenarios": scenarios}
