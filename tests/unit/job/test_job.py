"""Starting a job: its command, its environment and its settings."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from onceproof.errors import RequestError
from onceproof.job.job import Job
from onceproof.job.targets import target_of
from onceproof.kafka.security import Security
from onceproof.machine.polling import wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.stacks.tools import SparkTools
from tests.plans import plan_document

OURS = SparkTools(Path("/java/bin/java"), Path("/spark"), (), None, is_quick=True)
SCRAM = Security("SASL_SSL", "PLAIN", "${THE_USER}", "${THE_PASSWORD}")
PRINTS = "import os, sys; e = os.environ.get; print(e('JAVA_TOOL_OPTIONS'), e('A'), sys.argv[1:])"


def job(tmp_path, *command, **runtime):
    plan = plan_document(
        run="orders_1",
        job={"name": "orders", "command": list(command), "runtime": runtime},
        output={
            "sink": "parquet",
            "store": "files",
            "reference": "each_once",
            "declared": {"key": ["id"]},
        },
    )
    prepared = Prepared("s", False, "127.0.0.1:1", "spark://127.0.0.1:2", str(tmp_path / "output"))
    return Job(RunDirectory(tmp_path), Plan.of(plan), prepared, OURS, Path("/jobs"), {})


def output_of(made):
    attempt = made.start(1)
    wait_for(lambda: not attempt.is_alive, 20, "it does not end")
    return (made.run.logs / "driver-1.log").read_text()


@pytest.fixture(autouse=True)
def shell(monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dfrom=shell")


def test_variables_that_every_jvm_obeys_are_not_inherited(tmp_path):
    assert output_of(job(tmp_path, "{python}", "-c", PRINTS)) == "None None []\n"


def test_the_scenario_sets_variables_for_driver_and_executors(tmp_path):
    made = job(tmp_path, "{python}", "-c", PRINTS, env={"JAVA_TOOL_OPTIONS": "-Dx=y", "A": 5})
    assert output_of(made) == "-Dx=y 5 []\n"
    assert "spark.executorEnv.JAVA_TOOL_OPTIONS -Dx=y\n" in (tmp_path / "spark.conf").read_text()


def test_the_command_gets_the_place_of_its_output(tmp_path):
    made = job(tmp_path, "{python}", "-c", PRINTS, "{target}", "{topic}", "{jdbc}")
    folder = str(tmp_path / "output/orders_1.output")
    assert output_of(made) == f"None None {[folder, 'orders_1.events', str(tmp_path / 'output')]}\n"


def test_another_spark_has_a_cluster_of_its_own(tmp_path):
    (tmp_path / "theirs/jars").mkdir(parents=True)
    made = job(tmp_path, "{python}", "-c", PRINTS, spark_home=str(tmp_path / "theirs"), jars=[])
    output_of(made)
    conf = (tmp_path / "spark.conf").read_text()
    assert "spark.master local-cluster[2,1,1024]\n" in conf
    assert "SharedArchiveFile" not in conf
    assert made.command()[0] == sys.executable


def test_each_attempt_has_an_event_log_in_a_folder_that_is_removed(tmp_path):
    made = job(tmp_path, sys.executable, "-c", PRINTS)
    output_of(made)
    conf = (tmp_path / "spark.conf").read_text()
    folder = made.run.spark_local / "events" / "1"
    assert folder.is_dir()
    assert f"spark.eventLog.dir {folder.as_uri()}\n" in conf
    assert "spark.eventLog.enabled true\n" in conf
    assert "spark.eventLog.rolling.enabled false\n" in conf


PRINTS_VALUES = "import os, sys; e = os.environ; print(e['A'], e['URL'], sys.argv[1:])"


def test_values_of_variables_reach_the_job_and_names_stay_in_its_log(tmp_path, monkeypatch):
    monkeypatch.setenv("THE_SECRET", 'p@ss/"{word}"')
    env = {"A": "${THE_SECRET}", "URL": "https://me:${THE_SECRET}@host/"}
    words = ("--it=${THE_SECRET}", "{topic}", "--at=x://${THE_SECRET}", "${{LITERAL}}")
    made = job(tmp_path, "{python}", "-c", PRINTS_VALUES, *words, env=env)
    command = made.command()[3:]
    assert command == [
        '--it=p@ss/"{word}"',
        "orders_1.events",
        "--at=x://p%40ss%2F%22%7Bword%7D%22",
        "${LITERAL}",
    ]
    attempt = made.start(1)
    wait_for(lambda: not attempt.is_alive, 20, "it does not end")
    log = tmp_path / "logs/driver-1.log"
    assert log.read_text().startswith('p@ss/"{word}" https://me:p%40ss%2F')
    assert attempt.last_error.startswith(
        "${THE_SECRET} https://me:${THE_SECRET}@host/ ['--it=${THE_SE"
    )
    attempt.end()
    assert "p@ss" not in log.read_text()
    assert "p%40ss" not in log.read_text()


def test_settings_with_values_are_in_a_private_file(tmp_path, monkeypatch):
    monkeypatch.setenv("THE_SECRET", "two\nlines\\and more")
    output_of(job(tmp_path, "{python}", "-c", "", env={"A": "${THE_SECRET}", "B": "plain"}))
    kept, given = tmp_path / "spark.conf", tmp_path / "private/spark.conf"
    assert "spark.executorEnv.A ${THE_SECRET}\n" in kept.read_text()
    assert "spark.executorEnv.B plain\n" in kept.read_text()
    assert "spark.executorEnv.A two\\nlines\\\\and more\n" in given.read_text()
    assert "spark.redaction.regex (?i)secret|password|" in given.read_text()
    assert "redaction" not in kept.read_text()
    assert given.stat().st_mode & 0o777 == 0o600
    assert given.parent.stat().st_mode & 0o777 == 0o700


def test_the_job_logs_in_to_the_store_by_its_environment(tmp_path):
    passfile = tmp_path / "pgpass"
    passfile.write_text("*:*:*:me:hunter2\n")
    address = f"postgresql://me@127.0.0.1:5/db?passfile={passfile}"
    code = "import os; print(os.environ['PGPASSFILE'], os.environ['PGPASSWORD'])"
    made = job(tmp_path, "{python}", "-c", code, "{address}", "{jdbc}", env={"B": "${PGPASSWORD}"})
    made = replace(made, prepared=replace(made.prepared, address=address))
    assert output_of(made) == f"{passfile} hunter2\n"
    assert "hunter2" not in " ".join(made.command())
    conf = (tmp_path / "spark.conf").read_text()
    assert f"spark.executorEnv.PGPASSFILE {passfile}\n" in conf
    assert "hunter2" not in conf


def test_a_variable_that_is_not_set_starts_no_job(tmp_path):
    with pytest.raises(RequestError, match="NOT_SET_AT_ALL"):
        job(tmp_path, "{python}", "-c", "", "${NOT_SET_AT_ALL}").start(1)


@pytest.mark.parametrize(("store", "options"), [("kafka", SCRAM.for_topics()), ("files", {})])
def test_the_security_of_a_sink_depends_on_the_store_in_the_plan(tmp_path, store, options):
    made = job(tmp_path, "{python}")
    replace(made.prepared, security=SCRAM.named()).write(made.run.prepared)
    query = replace(made.plan.query, outputs=(replace(made.plan.output, store=store),))
    target = target_of(made.run, replace(made.plan, queries=(query,)), "a:1")
    assert target.options == options
