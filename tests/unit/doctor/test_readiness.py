"""The checks of a job before anything starts."""

import importlib.util
import json
import os
import sys
from dataclasses import replace

import pytest

from onceproof.doctor import check_scenario
from onceproof.doctor.job import check_job, check_libraries, check_suites, check_variables
from onceproof.errors import RequestError
from onceproof.job.needs import libraries_of, refuse_unset
from onceproof.scenario.catalogue import find_scenario
from onceproof.scenario.suites import OwnSuite

WORDS = ("{python}", "{here}/job.py", "--topic", "{topic}", "--url", "jdbc:x.sql")


@pytest.fixture
def checks(tmp_path):
    """Check a job with another command, in the folder of a scenario's file."""
    (tmp_path / "job.py").touch()
    found = replace(find_scenario("copy_events__append_table__calm"), folder=str(tmp_path))

    def look(*words):
        asked = replace(found, jobs=(replace(found.job, command=words),))
        return {one.name: one for one in check_job(asked)}

    return look


def program(folder, name, text):
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return str(file)


def test_a_valid_job_passes(checks):
    found = checks(*WORDS)
    assert [one.ok for one in found.values()] == [True] * 4
    assert found["command"].value == sys.executable
    assert found["files of the command"].value.endswith("/job.py")


def test_suites_that_cannot_be_built_are_reported(tmp_path):
    good = {"name": "orders", "expectations": [{"type": "expect_x", "kwargs": {}}]}
    (tmp_path / "orders.json").write_text(json.dumps(good))
    suites = [OwnSuite(f"{tmp_path}/{name}.json") for name in ("orders", "gone")]
    asked = replace(find_scenario("copy_events__append_table__calm"), expectations=tuple(suites))
    found = [(one.ok, one.value, one.remedy) for one in check_suites(asked)]
    assert found[0] == (True, "orders, 1 expectations", "")
    assert found[1][:2] == (False, f"{tmp_path}/gone.json cannot be built")
    assert found[1][2].startswith(f"{tmp_path}/gone.json does not exist")


def test_a_missing_program_is_reported_with_a_remedy(checks, tmp_path):
    found = checks("no-such-program", "{here}/job.py")["command"]
    assert (found.ok, found.value) == (False, "no-such-program is not a program")
    (tmp_path / "start.sh").touch()
    assert "write {here}/start.sh, and chmod +x" in checks("start.sh")["command"].remedy


def test_a_missing_file_is_reported(checks):
    found = checks("{python}", "job.py", "{here}/other.jar")["files of the command"]
    assert not found.ok
    assert found.value.startswith("job.py, /")
    assert "write {here}/ before" in found.remedy


def test_an_interpreter_without_pyspark_or_with_another_release_is_reported(checks, tmp_path):
    bare = program(
        tmp_path, "python3.99", "#!/bin/sh\necho 'No module named pyspark' >&2\nexit 1\n"
    )
    found = checks(bare, "{here}/job.py")["pyspark of the job"]
    assert (found.ok, found.value) == (False, "none: No module named pyspark")
    assert f"{bare} -m pip install pyspark" in found.remedy
    other = program(tmp_path, "python3.98", "#!/bin/sh\necho 3.5.4\n")
    found = checks(other, "{here}/job.py")["connector of the job"]
    assert (found.ok, found.value) == (False, "connector 4.2.0, pyspark 3.5.4")


def test_an_unknown_scenario_is_the_only_check(tmp_path):
    (found,) = check_scenario("no_such_scenario", None)
    assert (found.name, found.ok) == ("scenario", False)
    assert "unknown scenario 'no_such_scenario'" in found.remedy


def test_a_missing_stack_is_reported_after_the_job(tmp_path):
    *_, found = check_scenario("copy_events__append_table__calm", tmp_path / "nowhere")
    assert (found.name, found.ok) == ("stack", False)
    assert "nowhere" in found.remedy


def test_without_a_stack_a_run_starts_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("ONCEPROOF_HOME", os.fspath(tmp_path))
    *_, found = check_scenario("copy_events__append_table__calm", None)
    assert (found.name, found.ok) == ("stack", True)
    assert "starts its own" in found.value


def test_missing_libraries_are_reported_with_the_command_that_installs_them(monkeypatch):
    early = find_scenario("copy_events__two_phase_table__delivery_timed_out")
    assert "psycopg 3" in check_libraries(early).value
    there = importlib.util.find_spec
    absent = {"confluent_kafka", "psycopg"}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in absent else there(name)
    )
    found = check_libraries(early)
    assert (found.ok, found.remedy) == (False, "pip install 'onceproof[kafka,postgres]'")
    assert found.value.startswith("not installed: confluent-kafka (sends records in bulk), psycopg")
    plain = find_scenario("copy_events__append_table__calm")  # sends with what is installed
    assert check_libraries(plain).remedy == "pip install 'onceproof[postgres]'"


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("copy_events__two_phase_topic__calm", "kafka"),
        ("copy_events__append_topic__calm", None),
        ("copy_events__batch_folder__calm", None),
        ("copy_events__append_table__calm", "postgres"),
    ],
)
def test_a_sink_needs_the_library_of_its_store(name, extra):
    found = find_scenario(name)
    plain = replace(found.input, options={**found.input.options, "client": "kafka-python"})
    needed = libraries_of(replace(found, inputs=(plain,)))
    assert {one.extra for one in needed[3:]} == ({extra} if extra else set())


def test_unset_variables_are_reported(monkeypatch):
    found = find_scenario("copy_events__append_table__calm")
    env = {"A": "${SET_IT}", "B": "x${SET_THAT}", "C": "${PGPASSWORD}"}
    asked = replace(found, jobs=(replace(found.job, runtime={"env": env}),))
    monkeypatch.setenv("SET_IT", "a secret")
    (check,) = check_variables(asked)
    assert (check.ok, check.value) == (False, "not all of SET_IT, SET_THAT, PGPASSWORD are set")
    assert check.remedy.startswith("environment variable SET_THAT of the scenario is not set")
    monkeypatch.setenv("SET_THAT", "another")
    assert [one.ok for one in check_variables(asked)] == [True]
    with pytest.raises(RequestError, match="PGPASSWORD"):
        refuse_unset(asked, has_store=False)
    assert check_variables(found) == []
