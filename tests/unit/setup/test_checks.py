import importlib.metadata
import importlib.util

import pytest

from onceproof.errors import RequestError
from onceproof.setup import checks
from onceproof.setup.checks import refuse_unsound_spark, run_checks


def check(name):
    return next(found for found in run_checks() if found.name == name)


def test_every_check_has_a_name_of_its_own():
    names = [found.name for found in run_checks()]
    assert len(set(names)) == len(names)


def test_every_check_that_fails_says_what_to_do(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    assert not check("java").ok
    assert all(found.remedy for found in run_checks() if not found.ok)


def test_another_pyspark_than_its_jars_is_refused(monkeypatch):
    version = importlib.metadata.version
    monkeypatch.setattr(
        "importlib.metadata.version", lambda name: "4.9.9" if name == "pyspark" else version(name)
    )
    assert not check("pyspark").ok
    assert check("connector").value == "connector 4.2.0, pyspark 4.9.9"
    with pytest.raises(RequestError, match=r"pyspark 4\.9\.9, its jars 4\.2\.0; .* reinstall"):
        refuse_unsound_spark()


def test_a_machine_without_the_extras_is_told_what_to_install(monkeypatch):
    absent = {"pyspark", "kafka", "psycopg"}
    there = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in absent else there(name)
    )
    assert (check("pyspark").ok, check("pyspark").required) == (False, True)
    found = check("libraries")
    assert (found.ok, found.required) == (False, True)
    assert found.remedy == "pip install 'onceproof[kafka,postgres]'"
    with pytest.raises(RequestError, match=r"not installed: pyspark .* 'onceproof\[spark\]'"):
        refuse_unsound_spark()
    absent.remove("kafka")
    assert not check("libraries").required  # a scenario says whether it needs PostgreSQL


def test_pyspark_client_beside_it_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "_is_installed", lambda name: name in ("pyspark", "pyspark-client"))
    with pytest.raises(RequestError, match="pip uninstall pyspark-client"):
        refuse_unsound_spark()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/nonexistent/python", "/nonexistent/python is no program"),
        ("{folder}/other", "/other is Python 3.9"),
    ],
)
def test_a_python_of_the_executors_that_will_not_do_is_refused(tmp_path, monkeypatch, text, said):
    (tmp_path / "other").write_text("#!/bin/sh\necho 3.9\n")
    (tmp_path / "other").chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", text.format(folder=tmp_path))
    with pytest.raises(RequestError) as refused:
        refuse_unsound_spark()
    assert said in str(refused.value)


def test_the_parts_that_are_installed_belong_together(monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    refuse_unsound_spark()
