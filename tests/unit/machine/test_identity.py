import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from onceproof.machine.identity import Identity, all_processes
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn


@pytest.fixture
def sleeper(tmp_path):
    one = spawn(["sleep", "60"], log=tmp_path / "log", env={"NAME": "me"}, cwd=tmp_path)
    yield one
    one.send(signal.SIGKILL)
    wait_for(lambda: not one.is_alive, 5, "it does not die")


def test_a_process_is_itself_by_pid_and_start_time(sleeper):
    assert Identity.of(sleeper.pid) == sleeper
    assert sleeper.is_alive
    assert not replace(sleeper, started=sleeper.started + 1).is_alive


def test_no_signal_reaches_another_process_with_the_same_pid(sleeper):
    assert replace(sleeper, started=sleeper.started - 1).send(signal.SIGKILL) is False
    assert sleeper.is_alive


def test_a_paused_process_is_alive_and_paused(sleeper):
    sleeper.send(signal.SIGSTOP)
    wait_for(lambda: sleeper.is_paused, 5, "it does not stop")
    assert sleeper.is_alive
    sleeper.send(signal.SIGCONT)
    wait_for(lambda: not sleeper.is_paused, 5, "it does not continue")


def test_a_killed_process_is_dead_and_leaves_no_zombie(sleeper):
    assert sleeper.send(signal.SIGKILL)
    wait_for(lambda: not sleeper.is_alive, 5, "it does not die")
    assert sleeper.send(signal.SIGKILL) is False
    assert not os.path.exists(f"/proc/{sleeper.pid}")


def test_a_process_has_a_session_and_streams_of_its_own(sleeper, tmp_path):
    assert os.getsid(sleeper.pid) == sleeper.pid
    targets = [os.readlink(f"/proc/{sleeper.pid}/fd/{number}") for number in (0, 1, 2)]
    assert targets == ["/dev/null", str(tmp_path / "log"), str(tmp_path / "log")]


def test_a_process_shows_its_arguments_environment_and_folder(sleeper, tmp_path):
    assert sleeper.arguments() == ["sleep", "60"]
    assert sleeper.has_environment("NAME", "me")
    assert not sleeper.has_environment("NAME", "m")
    assert sleeper.works_in(tmp_path)
    assert sleeper.pss_bytes() > 0
    assert sleeper in set(all_processes())


def test_a_process_that_is_gone_shows_nothing():
    gone = Identity(2**22 + 1, 1)
    assert (gone.is_alive, gone.is_paused, gone.arguments()) == (False, False, [])
    assert (gone.pss_bytes(), gone.works_in(os.curdir), gone.send(signal.SIGTERM)) == (
        *(0, False),
        False,
    )


LEADER_ENDS = """
import ctypes, threading
from pathlib import Path
def outlive():
    while not Path("go").exists():
        pass
threading.Thread(target=outlive).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_first_thread_has_ended_is_not_dead(tmp_path):
    program = [sys.executable, "-c", LEADER_ENDS]
    one = spawn(program, log=tmp_path / "log", env={}, cwd=tmp_path)
    stat = Path(f"/proc/{one.pid}/stat")
    wait_for(lambda: ") Z " in stat.read_text(), 10, "its first thread does not end")
    assert one.is_alive
    one.send(signal.SIGKILL)
    wait_for(lambda: not one.is_alive, 10, "it does not die")


def test_a_started_process_shows_its_environment_at_once(tmp_path):
    for _ in range(100):
        one = spawn(["sleep", "60"], log=tmp_path / "log", env={"A": "b"}, cwd=tmp_path)
        is_shown = one.has_environment("A", "b")
        one.send(signal.SIGKILL)
        assert is_shown


def test_spawn_does_not_wait_for_a_process_that_exits_at_once(tmp_path):
    one = spawn(["true"], log=tmp_path / "log", env={"A": "b"}, cwd=tmp_path)
    wait_for(lambda: not one.is_alive, 10, "it is still alive")


@pytest.mark.parametrize(
    ("command", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", -signal.SIGKILL)]
)
def test_the_exit_code_of_a_child_is_known_when_it_has_ended(tmp_path, command, code):
    one = spawn(["sh", "-c", command], log=tmp_path / "log", env={}, cwd=tmp_path)
    wait_for(lambda: not one.is_alive, 5, "it does not end")
    assert (one.exit_code, one.exit_code) == (code, code)
    assert replace(one, started=one.started + 1).exit_code is None


def test_a_living_process_and_a_foreign_one_have_no_exit_code(sleeper):
    assert sleeper.exit_code is None
    assert Identity.of(os.getppid()).exit_code is None


def test_a_child_whose_exit_code_the_kernel_drops_did_not_end_with_0(tmp_path):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        one = spawn(["sh", "-c", "sleep 0.3; exit 3"], log=tmp_path / "log", env={}, cwd=tmp_path)
        wait_for(lambda: not one.is_alive, 5, "it does not end")
        assert one.exit_code is None
    finally:
        signal.signal(signal.SIGCHLD, before)
