"""A job is started as its scenario says, with nothing of the shell's that every JVM obeys."""

import sys
from pathlib import Path

import pytest

from onceproof.polling import wait_for
from onceproof.prepared import Prepared
from onceproof.process.job import Job
from onceproof.run import RunDirectory
from onceproof.stacks.tools import SparkTools
from onceproof.work import Work

OURS = SparkTools(Path("/java/bin/java"), Path("/spark"), (), None, is_quick=True)
SAYS = "import os, sys; e = os.environ.get; print(e('JAVA_TOOL_OPTIONS'), e('A'), sys.argv[1:])"


def job(tmp_path, *command, **runtime):
    plan = {
        "scenario": "orders__parquet__calm",
        "run": "orders_1",
        "seed": 7,
        "workload": {"name": "w", "topic": "orders_1.events", "partitions": 1, "options": {}},
        "pipeline": {"name": "orders", "command": list(command), "options": {}}
        | {"reference": "each_once", "output": {"key": ["id"]}, "runtime": runtime},
        "sink": {"name": "parquet", "target": "orders_1.output", "options": {}},
        "faults": [],
        "restart": {},
        "expectations": {},
        "limits": {"run_s": 60, "stall_s": 60},
    }
    prepared = Prepared("s", False, "127.0.0.1:1", "spark://127.0.0.1:2", str(tmp_path / "output"))
    return Job(RunDirectory(tmp_path), Work.of(plan), prepared, OURS, Path("/jobs"), {})


def said(made):
    attempt = made.start(1)
    wait_for(lambda: not attempt.is_alive, 20, "it does not end")
    return (made.run.logs / "driver-1.log").read_text()


@pytest.fixture(autouse=True)
def shell(monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dfrom=shell")


def test_what_every_jvm_obeys_is_not_inherited(tmp_path):
    assert said(job(tmp_path, "{python}", "-c", SAYS)) == "None None []\n"


def test_the_scenario_sets_it_for_driver_and_executors(tmp_path):
    made = job(tmp_path, "{python}", "-c", SAYS, env={"JAVA_TOOL_OPTIONS": "-Dx=y", "A": 5})
    assert said(made) == "-Dx=y 5 []\n"
    assert "spark.executorEnv.JAVA_TOOL_OPTIONS -Dx=y\n" in (tmp_path / "spark.conf").read_text()


def test_the_command_is_told_where_its_output_goes(tmp_path):
    made = job(tmp_path, "{python}", "-c", SAYS, "{target}", "{topic}", "{jdbc}")
    folder = str(tmp_path / "output/orders_1.output")
    assert said(made) == f"None None {[folder, 'orders_1.events', str(tmp_path / 'output')]}\n"


def test_another_spark_has_a_cluster_of_its_own(tmp_path):
    (tmp_path / "theirs/jars").mkdir(parents=True)
    made = job(tmp_path, "{python}", "-c", SAYS, spark_home=str(tmp_path / "theirs"), jars=[])
    said(made)
    told = (tmp_path / "spark.conf").read_text()
    assert "spark.master local-cluster[2,1,1024]\n" in told
    assert "SharedArchiveFile" not in told
    assert made.command()[0] == sys.executable


def test_each_attempt_has_an_event_log_of_its_own_among_what_is_removed(tmp_path):
    made = job(tmp_path, sys.executable, "-c", SAYS)
    said(made)
    told = (tmp_path / "spark.conf").read_text()
    folder = made.run.spark_local / "events" / "1"
    assert folder.is_dir()
    assert f"spark.eventLog.dir {folder.as_uri()}\n" in told
    assert "spark.eventLog.enabled true\n" in told
    assert "spark.eventLog.rolling.enabled false\n" in told
