import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.setup.making import MARK, ensure, making


def test_a_file_is_made_once_and_appears_complete(tmp_path):
    made = []

    def make(folder, mark):
        assert mark == {MARK: str(tmp_path)}
        assert not (tmp_path / "kept/thing").exists()
        (folder / "thing").write_text("whole")
        made.append(folder)

    for _ in range(2):
        assert ensure(tmp_path, tmp_path / "kept/thing", make).read_text() == "whole"
    assert len(made) == 1
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["thing"]


def test_a_failed_make_leaves_nothing(tmp_path):
    def make(folder, _):
        (folder / "half").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ensure(tmp_path, tmp_path / "kept/thing", make)
    assert list((tmp_path / "kept").iterdir()) == []


def test_leftovers_of_a_killed_maker_are_removed(tmp_path):
    (tmp_path / "archives/part-dead").mkdir(parents=True)
    left = spawn(["sleep", "60"], log=tmp_path / "l", env={MARK: str(tmp_path)}, cwd=tmp_path)
    other = spawn(["sleep", "60"], log=tmp_path / "l", env={MARK: "/another"}, cwd=tmp_path)
    with making(tmp_path):
        wait_for(lambda: not left.is_alive, 5, "it is still alive")
        assert not (tmp_path / "archives/part-dead").exists()
        assert other.is_alive
    other.send(signal.SIGKILL)
    wait_for(lambda: not other.is_alive, 5, "it is still alive")


WAITER = """
import sys
from pathlib import Path
from onceproof.setup.making import making
with making(Path(sys.argv[1])):
    print("in", flush=True)
"""


def test_a_second_maker_waits_for_the_first(tmp_path):
    with making(tmp_path):
        child = subprocess.Popen([sys.executable, "-c", WAITER, tmp_path], stdout=subprocess.PIPE)
        wait_for(lambda: is_blocked(child.pid), 10, "it does not wait")
    assert child.communicate(timeout=10)[0] == b"in\n"


def is_blocked(pid):
    lines = Path("/proc/locks").read_text().splitlines()
    return any("->" in line and str(pid) in line.split() for line in lines)
