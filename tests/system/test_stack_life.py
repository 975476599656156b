"""A stack is started, stopped and killed at any moment, and leaves no files and no processes."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from onceproof.errors import RequestError
from onceproof.machine.identity import Identity, all_processes, boot_id
from onceproof.machine.polling import wait_for
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.state import LOCK, MARK, State
from tests.further import further_but
from tests.system.command import run, start

pytestmark = [pytest.mark.stack, pytest.mark.system]
SMALL = ("--without", "kafka", "--without", "spark")
ROOT = os.geteuid() == 0


@pytest.fixture
def home(stacks_folder):
    folder = stacks_folder / "life"
    yield folder
    run("down", "--home", folder)
    shutil.rmtree(folder, ignore_errors=True)


def left_of(folder: Path) -> list[Identity]:
    """Return the processes that a stack of this folder could have left: they work in it."""
    return [
        one
        for one in all_processes()
        if str(folder) in " ".join(one.arguments()) or one.works_in(folder / "store/data")
    ]


def files_of(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name != LOCK] if folder.exists() else []


MOMENTS = {
    "at once": "stack.json",
    "data half copied": "store/data/base",
    "first broker": "pids/broker-1.json",
    "last worker": "pids/worker-2.json",
}


ENDS = [*((moment, signal.SIGKILL) for moment in MOMENTS), ("first broker", signal.SIGTERM)]
IN_CI = [("data half copied", signal.SIGKILL), ("last worker", signal.SIGKILL), ENDS[-1]]


# `make prove PART=stack` kills it at sixty moments.
@pytest.mark.parametrize(("moment", "end"), further_but(IN_CI, ENDS))
def test_down_leaves_nothing_after_up_was_killed_at_any_moment(home, moment, end):
    dying = start("up", "--home", home)
    wait_for((home / MOMENTS[moment]).exists, 60, f"{moment} was never reached", every_s=0.002)
    dying.send_signal(end)
    dying.communicate(timeout=60)
    assert run("down", "--home", home)[0] == 0
    assert left_of(home) == []
    assert files_of(home) == []


def test_up_replaces_a_stack_whose_up_was_killed(home):
    dying = start("up", *SMALL, "--home", home)
    wait_for((home / "pids/store.json").exists, 60, "the store was never started", every_s=0.002)
    dying.kill()
    dying.communicate(timeout=60)
    first = State.load(home)
    assert run("up", *SMALL, "--home", home)[0] == 0
    assert State.load(home).mark != first.mark
    assert not [one for one in all_processes() if one.has_environment(MARK, first.mark)]


def test_other_processes_are_not_touched(home):
    """Not after a restart of the machine, and not if a pid was reused."""
    with subprocess.Popen(["sleep", "60"]) as innocent:
        stranger = Identity.of(innocent.pid)
        assert run("up", *SMALL, "--home", home)[0] == 0
        state = State.load(home)
        (home / "pids/master.json").write_text(
            f'{{"pid": {stranger.pid}, "started": {stranger.started - 1}}}'
        )
        replace(state, launches=state.launches | {"master": state.launches["store"]}).save()
        assert run("down", "--home", home)[0] == 0
        assert stranger.is_alive
        home.mkdir(exist_ok=True)
        (home / "pids").mkdir()
        (home / "pids/store.json").write_text(
            f'{{"pid": {stranger.pid}, "started": {stranger.started}}}'
        )
        replace(state, boot="another boot").save()
        assert boot_id() != "another boot"
        assert run("down", "--home", home)[0] == 0
        assert stranger.is_alive
        innocent.kill()


# In CI two stacks run all the time: one of each process that runs tests.
@pytest.mark.long
def test_two_stacks_run_side_by_side(home, stacks_folder):
    other = stacks_folder / "other"
    shape = ("--without", "kafka", "--workers", 1)
    assert run("up", *shape, "--home", home)[0] == 0
    assert run("up", *shape, "--home", other)[0] == 0
    first, second = LocalStack(home), LocalStack(other)
    assert not set(first.state.ports.values()) & set(second.state.ports.values())
    assert run("down", "--home", home)[0] == 0
    assert run("status", "--home", other)[0] == 0
    assert run("down", "--home", other)[0] == 0
    assert left_of(other) == []


def segments_of(stack: LocalStack) -> list[str]:
    """Return the shared memory segments by which PostgreSQL locks its data."""
    lines = (stack.state.folder / "store/data/postmaster.pid").read_text().splitlines()
    number = lines[6].split()[1]
    rows = Path("/proc/sysvipc/shm").read_text().splitlines()
    return [row for row in rows if number in row.split()[:2]]


def test_a_power_cut_leaves_no_shared_memory(home, rng):
    assert run("up", *SMALL, "--home", home)[0] == 0
    stack = LocalStack(home)
    (before,) = segments_of(stack)
    stack.apply("kill", "store", rng)
    assert run("down", "--home", home)[0] == 0
    assert before.split()[1] not in Path("/proc/sysvipc/shm").read_text().split()


def test_a_home_behind_a_link_hides_no_backend(home, stacks_folder, rng):
    (stacks_folder / "real").mkdir()
    home.symlink_to(stacks_folder / "real")
    assert run("up", *SMALL, "--home", home / "stack")[0] == 0
    done = LocalStack(home / "stack").apply("kill", "store", rng)
    assert len(done.proof["ended"]) > 1
    assert run("down", "--home", home / "stack")[0] == 0
    assert left_of(stacks_folder / "real/stack") == []
    home.unlink()


@pytest.mark.skipif(not ROOT, reason="only root runs PostgreSQL as another user")
def test_up_without_the_right_to_see_backends_is_refused(home):
    away = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]
    command = [*away, sys.executable, "-m", "onceproof", "up", *SMALL, "--home", home]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "give this process the capability SYS_PTRACE" in done.stderr
    assert run("down", "--home", home)[0] == 0
    assert left_of(home) == []


def test_another_process_in_the_data_folder_is_left_alone(home):
    assert run("up", *SMALL, "--home", home)[0] == 0
    with subprocess.Popen(["sleep", "60"], cwd=home / "store/data") as innocent:
        assert run("down", "--home", home)[0] == 0
        assert innocent.poll() is None
        innocent.kill()


def test_a_stack_that_was_taken_down_starts_nothing_and_does_not_end_the_next_one(home, rng):
    assert run("up", *SMALL, "--home", home)[0] == 0
    first = LocalStack(home)
    first.down()
    with pytest.raises(RequestError, match="taken"):
        first.apply("start", "store", rng)
    assert left_of(home) == []
    assert run("up", *SMALL, "--home", home)[0] == 0
    with pytest.raises(RequestError, match="taken"):
        first.apply("kill", "store", rng)
    first.down()
    assert run("status", "--home", home)[0] == 0


OWNER = """
import os, sys
from pathlib import Path
from onceproof.stacks.local.stack import LocalStack
with LocalStack.up(Path(sys.argv[1]), without=["kafka", "spark"]):
    os.kill(os.getpid(), 9)
"""


def test_a_stack_ends_with_the_program_that_owns_it(home):
    done = subprocess.run([sys.executable, "-c", OWNER, home], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    wait_for(lambda: not left_of(home) and not files_of(home), 30, "the stack outlives its owner")


def test_the_embedded_postgresql_works_without_an_installed_one(home):
    assert run("up", *SMALL, "--home", home, ONCEPROOF_POSTGRES="embedded")[0] == 0
    argv = LocalStack(home).state.launches["store"].argv
    assert "embedded-postgres" in argv[0]
    assert run("status", "--home", home)[0] == 0


# Fewer members: tests/system/test_documents.py; full speed: `make prove PART=start`.
@pytest.mark.long
def test_brokers_can_be_started_alone_and_at_full_speed(home):
    with LocalStack.up(home, brokers=1, without=["spark", "store"], is_quick=False) as stack:
        assert list(stack.members) == ["broker:1"]
        argv = stack.state.launches["broker:1"].argv
        assert "-XX:TieredStopAtLevel=1" not in argv
        assert all(member.healthy for member in stack.status())


def test_an_up_killed_before_it_had_a_state_is_no_obstacle(home):
    home.mkdir(parents=True)
    (home / "stack.part").touch()
    assert run("up", *SMALL, "--home", home)[0] == 0
    assert run("down", "--home", home)[0] == 0
    assert files_of(home) == []
