"""The runtime that a scenario sets for its job."""

import re
import sys
from pathlib import Path

import pytest

from onceproof.errors import RequestError
from onceproof.job.runtime import jdbc_of, python_of, submit_command, tools_of
from onceproof.stacks.tools import SparkTools

OURS = SparkTools(Path("/java"), Path("/spark"), (Path("/ours.jar"),), Path("/archive"), True)


def test_defaults_are_those_of_onceproof(tmp_path):
    assert python_of({}) == sys.executable
    assert tools_of({"env": {"A": "b"}}, OURS, tmp_path / "home") is OURS


def test_another_spark_has_a_home_of_links_and_no_archive(tmp_path):
    theirs = tmp_path / "theirs"
    (theirs / "jars").mkdir(parents=True)
    jar = tmp_path / "connector.jar"
    jar.touch()
    given = {"spark_home": str(theirs), "jars": [str(jar)]}
    found = tools_of(given, OURS, tmp_path / "home")
    assert (found.home, found.jars, found.archive) == (tmp_path / "home", (jar,), None)
    assert (tmp_path / "home/jars").resolve() == theirs / "jars"
    assert tools_of(given, OURS, tmp_path / "home") == found  # at every start of the job


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spark_home": "/nowhere"}, "invalid spark_home '/nowhere'; use a folder with bin/"),
        ({"python": "/nowhere/python"}, "'/nowhere/python' has no pyspark"),
    ],
)
def test_an_invalid_spark_is_refused(tmp_path, given, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        tools_of(given, OURS, tmp_path / "home")


def test_a_missing_jar_is_refused(tmp_path):
    (tmp_path / "jars").mkdir()
    with pytest.raises(RequestError, match=r"/nowhere\.jar"):
        tools_of({"spark_home": str(tmp_path), "jars": ["/nowhere.jar"]}, OURS, tmp_path / "home")


def test_spark_submit_gets_the_settings_file():
    words = ["/opt/spark/bin/spark-submit", "job.py", "--topic=t"]
    command = ["/opt/spark/bin/spark-submit", "--properties-file", "/conf", "job.py", "--topic=t"]
    assert submit_command(words, Path("/conf")) == command
    assert submit_command(["python", "job.py"], Path("/conf")) == ["python", "job.py"]
    own = ["spark-submit", "--properties-file", "mine", "job.py"]
    assert submit_command(own, Path("/conf")) == own


def test_an_address_is_converted_for_jdbc():
    jdbc = "jdbc:postgresql://127.0.0.1:5/db?user=me&password=it"
    assert jdbc_of("postgresql://me:it@127.0.0.1:5/db") == jdbc
    ours = "postgresql://me@127.0.0.1:5/db?passfile=/stack/login/pgpass"
    assert jdbc_of(ours) == "jdbc:postgresql://127.0.0.1:5/db?user=me"
    assert jdbc_of("127.0.0.1:9092") == "127.0.0.1:9092"
    theirs = "postgresql://me:${PASSWORD}@db.example/shop?sslmode=require"
    jdbc = "jdbc:postgresql://db.example/shop?user=me&password=${PASSWORD}&sslmode=require"
    assert jdbc_of(theirs) == jdbc
