import importlib.metadata
import importlib.util
import re

import pytest

from onceproof.errors import RequestError
from onceproof.setup import checks
from onceproof.setup.checks import refuse_unsound_spark, run_checks


def check(name):
    return next(found for found in run_checks() if found.name == name)


def test_check_names_are_unique():
    names = [found.name for found in run_checks()]
    assert len(set(names)) == len(names)


def test_every_failed_check_has_a_remedy(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    assert not check("java").ok
    assert all(found.remedy for found in run_checks() if not found.ok)


def test_a_pyspark_of_another_release_than_its_jars_is_refused(monkeypatch):
    version = importlib.metadata.version
    monkeypatch.setattr(
        "importlib.metadata.version", lambda name: "4.9.9" if name == "pyspark" else version(name)
    )
    assert not check("pyspark").ok
    assert check("connector").value == "connector 4.2.0, pyspark 4.9.9"
    with pytest.raises(RequestError, match=r"4\.9\.9.*4\.2\.0.*reinstall"):
        refuse_unsound_spark()


def test_missing_extras_are_reported_with_the_command_that_installs_them(monkeypatch):
    absent = {"pyspark", "kafka", "psycopg"}
    there = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in absent else there(name)
    )
    assert (check("pyspark").ok, check("pyspark").required) == (False, True)
    found = check("libraries")
    assert (found.ok, found.required) == (False, True)
    assert found.remedy == "pip install 'onceproof[kafka,postgres]'"
    with pytest.raises(RequestError, match=r"pyspark.*onceproof\[spark\]"):
        refuse_unsound_spark()
    absent.remove("kafka")
    assert not check("libraries").required  # not every scenario needs PostgreSQL


def test_an_installed_pyspark_client_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "_is_installed", lambda name: name in ("pyspark", "pyspark-client"))
    with pytest.raises(RequestError, match="pyspark-client"):
        refuse_unsound_spark()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("/nonexistent/python", "/nonexistent/python is not a program"),
        ("{folder}/other", "/other is Python 3.9"),
    ],
)
def test_an_unsuitable_python_of_the_executors_is_refused(tmp_path, monkeypatch, given, message):
    (tmp_path / "other").write_text("#!/bin/sh\necho 3.9\n")
    (tmp_path / "other").chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", given.format(folder=tmp_path))
    with pytest.raises(RequestError, match=re.escape(message)):
        refuse_unsound_spark()


def test_the_installed_parts_are_of_one_release(monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    refuse_unsound_spark()
