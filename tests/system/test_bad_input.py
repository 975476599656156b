"""Invalid requests are refused with one sentence and exit 3."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

from onceproof.stacks.local.stack import LocalStack
from tests.system.command import run, start
from tests.system.test_stack_life import ROOT, SMALL, home  # noqa: F401

pytestmark = [pytest.mark.stack, pytest.mark.system]


def refused(*words, **env):
    code, out, message = run(*words, **env)
    assert (code, out) == (3, ""), (code, out, message)
    assert message.startswith("onceproof: ")
    return message.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["up", "--brokers", "2"], "--brokers 2 is out of range; use 1, 3 or 5"),
        (["up", "--workers", "99"], "--workers 99 is out of range; use 1 to 8"),
        (["up", "--without", "flink"], "unknown part in --without 'flink'; choose one of kafka"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["kill"], "Missing argument 'member'"),
        (["logs", "store", "--lines", "0"], "Invalid value for '--lines'"),
    ],
)
def test_invalid_arguments_are_refused(words, message):
    assert message in refused(*words)


def test_a_missing_stack_is_reported(home):  # noqa: F811
    for words in (["status"], ["kill", "store"], ["logs", "store"]):
        assert "no stack in" in refused(*words, "--home", home)
    assert run("down", "--home", home)[0] == 0


def test_a_home_that_another_stack_holds_is_refused(home):  # noqa: F811
    assert run("up", *SMALL, "--home", home)[0] == 0
    assert "a stack is up in" in refused("up", *SMALL, "--home", home)
    assert "unknown member 'broker:1'" in refused("kill", "broker:1", "--home", home)
    assert "unknown member 'broker:1'" in refused("logs", "broker:1", "--home", home)
    assert run("status", "--home", home)[0] == 0


def test_a_home_that_another_up_is_filling_is_refused(home):  # noqa: F811
    first = start("up", "--without", "spark", "--home", home)
    while not (home / "stack.json").exists() and first.poll() is None:
        os.sched_yield()
    assert "is locked by another onceproof command (pid" in refused("up", "--home", home)
    assert first.communicate(timeout=120)[0]
    assert first.returncode == 0


def test_a_home_with_other_files_is_left_alone(home):  # noqa: F811
    home.mkdir(parents=True)
    (home / "thesis.txt").write_text("years of work")
    assert "contains files of no stack (thesis.txt)" in refused("up", "--home", home)
    assert run("down", "--home", home)[0] == 0
    assert (home / "thesis.txt").read_text() == "years of work"
    shutil.rmtree(home)


def test_a_port_in_use_is_reported_with_its_process(home, rng):  # noqa: F811
    assert run("up", *SMALL, "--home", home)[0] == 0
    stack = LocalStack(home)
    stack.apply("kill", "store", rng)
    with socket.create_server(("127.0.0.1", stack.state.ports["store"])):
        message = refused("start", "store", "--home", home)
    assert (
        f"port {stack.state.ports['store']} on 127.0.0.1, which store needs, is in use" in message
    )
    assert f"process {os.getpid()}" in message
    assert run("start", "store", "--home", home)[0] == 0


def test_a_missing_or_old_java_is_reported(home, tmp_path):  # noqa: F811
    nothing = {"PATH": "/nonexistent", "JAVA_HOME": ""}
    assert "no Java found on PATH" in refused("up", "--home", home, **nothing)
    old = tmp_path / "bin/java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    message = refused("up", "--home", home, JAVA_HOME=str(tmp_path))
    assert "is Java 11, older than 17; install a JDK" in message


@pytest.mark.skipif(not ROOT, reason="only root can mount a small disk")
def test_a_full_disk_is_reported(home):  # noqa: F811
    home.mkdir(parents=True)
    inside = f"mount -t tmpfs -o size=16m none {home} && {sys.executable} -m onceproof up"
    command = ["unshare", "--mount", "sh", "-c", f"{inside} --home {home}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    assert "MB free, and a stack needs 512; free disk space" in done.stderr


@pytest.mark.skipif(not ROOT, reason="only root runs PostgreSQL as another user")
def test_a_home_that_postgresql_cannot_enter_is_reported(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o700)
    message = refused("up", *SMALL, "--home", tmp_path / "closed/stack")
    assert "cannot be entered by the user that PostgreSQL runs as" in message


def test_a_lock_file_of_another_program_is_not_written_to(home):  # noqa: F811
    home.mkdir(parents=True)
    (home / "lock").write_text("precious")
    assert run("down", "--home", home)[0] == 0
    assert "contains files of no stack (lock)" in refused("up", "--home", home)
    assert (home / "lock").read_text() == "precious"
    assert [path.name for path in home.iterdir()] == ["lock"]


@pytest.mark.parametrize("words", [["status"], ["down"], ["up"], ["kill", "store"]])
def test_a_home_that_is_a_file_is_reported(words, tmp_path):
    (tmp_path / "file").touch()
    code, _, message = run(*words, "--home", tmp_path / "file/stack")
    assert (code, "Traceback" in message) in ((3, False), (0, False))


def test_onceproof_home_cannot_be_the_home_of_a_stack(tmp_path):
    message = refused("up", "--home", tmp_path, ONCEPROOF_HOME=str(tmp_path))
    assert "is ONCEPROOF_HOME itself" in message


def test_a_stack_that_never_came_up_takes_no_verbs(home):  # noqa: F811
    dying = start("up", *SMALL, "--home", home)
    while not (home / "stack.json").exists() and dying.poll() is None:
        os.sched_yield()
    dying.kill()
    dying.communicate(timeout=60)
    assert "did not start completely" in refused("start", "store", "--home", home)
    assert "was never started, so it has no log" in refused("logs", "store", "--home", home)
