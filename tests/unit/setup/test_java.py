import re

import pytest

from onceproof.errors import RequestError
from onceproof.setup.java import archive_path, find_java


def install(folder, text, code=0):
    program = folder / "bin/java"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\nexit {code}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("text", "major"),
    [('openjdk version "17.0.15" 2025-04-15', 17), ('openjdk version "25" 2025-09-16', 25)],
)
def test_the_java_of_java_home_is_found(tmp_path, monkeypatch, text, major):
    install(tmp_path, text)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java().major == major
    assert find_java().folder == tmp_path


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ('java version "1.8.0_392"', 0, "bin/java is Java 8, older than 17; install a JDK"),
        ("Segmentation fault", 139, "prints no version but 'Segmentation fault'; install a JDK"),
    ],
)
def test_an_unsuitable_java_is_refused(tmp_path, monkeypatch, text, code, message):
    install(tmp_path, text, code)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RequestError, match=re.escape(message)):
        find_java()


def test_a_java_home_without_java_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RequestError, match=f"JAVA_HOME={tmp_path}"):
        find_java()


def test_options_in_the_environment_do_not_change_the_version_text(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    install(tmp_path, 'openjdk version "17.0.1"')
    before = find_java()
    install(tmp_path, 'Picked up JAVA_TOOL_OPTIONS: -Da=b\nopenjdk version "17.0.1"')
    assert find_java() == before


def test_an_archive_belongs_to_one_java_and_exactly_these_jars(tmp_path, monkeypatch):
    install(tmp_path, 'openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"one")
    before = archive_path(tmp_path, "broker", find_java(), [jar])
    assert before == archive_path(tmp_path, "broker", find_java(), [jar])
    jar.write_bytes(b"another")
    assert archive_path(tmp_path, "broker", find_java(), [jar]) != before
    install(tmp_path, 'openjdk version "17.0.2"')
    assert len({archive_path(tmp_path, "broker", find_java(), []), before}) == 2
