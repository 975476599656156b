"""Which way a jar is fetched, with stand-ins for Java and Maven that do what the test needs."""

from pathlib import Path

import pytest

from onceproof.errors import RequestError
from onceproof.setup.fetch import Coordinate, fetch

JAR = Coordinate("org.example", "thing", "1.0")
JAVA = """#!/bin/sh
if [ "$2" = -version ]; then echo 'openjdk version "17.0.1"' >&2; exit; fi
echo ivy >> {said}
{ivy}
"""
MAVEN = """#!/bin/sh
echo maven >> {said}
{maven}
"""


@pytest.fixture
def ways(tmp_path, monkeypatch):
    """Return a function that makes the two programs do something, and then fetches."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "into").mkdir()

    def run(ivy: str, maven: str) -> list[str]:
        said = tmp_path / "said"
        for name, text in (("java", JAVA), ("mvn", MAVEN)):
            program = tmp_path / "bin" / name
            program.write_text(text.format(said=said, ivy=ivy, maven=maven))
            program.chmod(0o755)
        fetch([JAR], tmp_path / "into", {"MARK": "x"})
        return said.read_text().split()

    return run


def test_ivy_is_asked_first_and_maven_not_at_all(ways, tmp_path):
    assert ways(f"touch {tmp_path}/into/{JAR.file}", "exit 1") == ["ivy"]


def test_maven_is_asked_where_ivy_fails(ways, tmp_path):
    assert ways("exit 1", f"touch {tmp_path}/into/{JAR.file}") == ["ivy", "maven"]


def test_maven_is_asked_first_where_it_has_settings(ways, tmp_path):
    (tmp_path / ".m2").mkdir()
    (tmp_path / ".m2/settings.xml").touch()
    assert ways("exit 1", f"touch {tmp_path}/into/{JAR.file}") == ["maven"]


def test_ivys_own_settings_are_used_where_there_are_any(ways, tmp_path):
    (tmp_path / ".ivy2").mkdir()
    (tmp_path / ".ivy2/ivysettings.xml").touch()
    ways(f'echo "$@" > {tmp_path}/words; touch {tmp_path}/into/{JAR.file}', "exit 1")
    assert f"-settings {tmp_path}/.ivy2/ivysettings.xml" in (tmp_path / "words").read_text()


def test_what_every_way_said_is_told(ways):
    with pytest.raises(RequestError) as refused:
        ways("echo 'SERVER ERROR: closed'; exit 1", "echo '[ERROR] no route'; exit 1")
    said = str(refused.value)
    assert said.startswith("1 of 1 jars could not be fetched, first org.example:thing:1.0")
    assert "SERVER ERROR: closed" in said
    assert "[ERROR] no route" in said


def test_a_file_name_is_the_same_whoever_fetched_it():
    assert Coordinate.parse("a.b:c-d:1.2").file == "c-d-1.2.jar"
    assert Path(JAR.file).suffix == ".jar"
