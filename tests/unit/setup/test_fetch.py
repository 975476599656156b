"""The order of Ivy and Maven, with stand-ins for both programs."""

from pathlib import Path

import pytest

from onceproof.errors import RequestError
from onceproof.setup.fetch import Coordinate, fetch

JAR = Coordinate("org.example", "thing", "1.0")
JAVA = """#!/bin/sh
if [ "$2" = -version ]; then echo 'openjdk version "17.0.1"' >&2; exit; fi
echo ivy >> {calls}
{ivy}
"""
MAVEN = """#!/bin/sh
echo maven >> {calls}
{maven}
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Return a function that gives both programs a script, fetches, and returns the calls."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "into").mkdir()

    def run(ivy: str, maven: str) -> list[str]:
        calls = tmp_path / "calls"
        for name, text in (("java", JAVA), ("mvn", MAVEN)):
            program = tmp_path / "bin" / name
            program.write_text(text.format(calls=calls, ivy=ivy, maven=maven))
            program.chmod(0o755)
        fetch([JAR], tmp_path / "into", {"MARK": "x"})
        return calls.read_text().split()

    return run


def test_maven_is_not_called_where_ivy_succeeds(tools, tmp_path):
    assert tools(f"touch {tmp_path}/into/{JAR.file}", "exit 1") == ["ivy"]


def test_maven_is_called_where_ivy_fails(tools, tmp_path):
    assert tools("exit 1", f"touch {tmp_path}/into/{JAR.file}") == ["ivy", "maven"]


def test_maven_is_called_first_where_it_has_settings(tools, tmp_path):
    (tmp_path / ".m2").mkdir()
    (tmp_path / ".m2/settings.xml").touch()
    assert tools("exit 1", f"touch {tmp_path}/into/{JAR.file}") == ["maven"]


def test_the_users_settings_of_ivy_are_used_if_they_exist(tools, tmp_path):
    (tmp_path / ".ivy2").mkdir()
    (tmp_path / ".ivy2/ivysettings.xml").touch()
    tools(f'echo "$@" > {tmp_path}/words; touch {tmp_path}/into/{JAR.file}', "exit 1")
    assert f"-settings {tmp_path}/.ivy2/ivysettings.xml" in (tmp_path / "words").read_text()


def test_the_error_contains_the_jar_and_the_errors_of_every_tool(tools):
    with pytest.raises(RequestError) as refused:
        tools("echo 'SERVER ERROR: closed'; exit 1", "echo '[ERROR] no route'; exit 1")
    for part in ("org.example:thing:1.0", "SERVER ERROR: closed", "[ERROR] no route"):
        assert part in str(refused.value)


def test_a_file_name_does_not_depend_on_the_tool():
    assert Coordinate.parse("a.b:c-d:1.2").file == "c-d-1.2.jar"
    assert Path(JAR.file).suffix == ".jar"
