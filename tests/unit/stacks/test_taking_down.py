"""Processes started by a member end with the stack, however they hide, and after any crash."""

import shutil
import signal
import sys
from dataclasses import replace

import pytest

from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.stacks.local.taking_down import take_down
from onceproof.stacks.state import Launch, State

# A member that starts a process with another parent, another session, no environment, no working
# directory, and SIGTERM ignored.
MEMBER = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder = os.getcwd()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    with open(f"{folder}/new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{folder}/new", f"{folder}/pid")
    os.execve("/bin/sleep", ["sleep", "600"], {})
time.sleep(600)
"""


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("ONCEPROOF_HOME", str(tmp_path / "home"))
    folder = tmp_path / "stack"
    for place in ("logs", "pids", "place"):
        (folder / place).mkdir(parents=True)
    launch = Launch([sys.executable, "-c", MEMBER], {}, str(folder / "place"))
    made = State.new(folder, cluster_id="id", brokers=1, workers=0, ports={"broker:1": 9})
    made = replace(made, launches={"broker:1": launch})
    made.save()
    return made


@pytest.fixture
def hidden(state):
    """The member's process, and the process that hides."""
    main = state.start("broker:1")
    pid = state.folder / "place/pid"
    wait_for(pid.exists, 20, "the member starts nothing")
    found = Identity.of(int(pid.read_text()))
    assert found.session != main.pid
    wait_for(lambda: found.arguments() == ["sleep", "600"], 5, "it does not hide")
    assert not found.shows_environment
    yield main, found
    for one in (main, found):
        one.send(signal.SIGKILL)


def nothing(state, main):
    """Leave all processes running."""


def main_dies(state, main):
    main.send(signal.SIGKILL)
    wait_for(lambda: not main.is_alive, 5, "it is still alive")


def main_dies_and_starts_again(state, main):
    main_dies(state, main)
    (state.folder / "place/pid").unlink()
    state.start("broker:1").send(signal.SIGKILL)


def its_pid_is_not_recorded(state, main):
    shutil.rmtree(state.folder / "pids")
    main_dies(state, main)


@pytest.mark.parametrize(
    "before", [nothing, main_dies, main_dies_and_starts_again, its_pid_is_not_recorded]
)
def test_a_process_that_hides_ends_with_its_stack(state, hidden, before):
    main, found = hidden
    before(state, main)
    assert found.is_alive
    assert take_down(state.folder)
    assert not found.is_alive
    assert state.processes() == []


def test_a_process_of_another_stack_is_left_alone(state, hidden, tmp_path):
    _, found = hidden
    other = replace(state, folder=tmp_path / "other", mark=State.new(tmp_path, **shape()).mark)
    other.folder.mkdir()
    other.save()
    assert take_down(other.folder)
    assert found.is_alive


def shape():
    return {"cluster_id": "id", "brokers": 0, "workers": 0, "ports": {}}


def test_a_failed_start_is_in_the_log(state):
    launch = Launch(["/no/such/program"], {}, str(state.folder))
    lost = replace(state, launches={"broker:1": launch}).start("broker:1")
    wait_for(lambda: not lost.is_alive, 5, "it is still alive")
    assert "/no/such/program" in state.log("broker:1").read_text()
