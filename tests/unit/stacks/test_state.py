import json
import os
import signal
from dataclasses import replace
from functools import partial

import pytest

from onceproof.errors import RequestError
from onceproof.machine.polling import comes_true, wait_for
from onceproof.machine.spawning import spawn
from onceproof.stacks.state import MARK, Launch, State, file_lock


@pytest.fixture
def state(tmp_path):
    for place in ("logs", "pids"):
        (tmp_path / place).mkdir()
    launch = Launch(["sleep", "60"], {"A": "b"}, str(tmp_path))
    made = State.new(tmp_path, cluster_id="id", brokers=1, workers=0, ports={"broker:1": 9})
    made = replace(made, launches={"broker:1": launch})
    yield made
    for one in made.processes():
        one.send(signal.SIGKILL)
    wait_for(lambda: not made.processes(), 5, "they do not end")


def test_a_state_is_read_back_as_it_was_written(state):
    assert State.load(state.folder) is None
    state.save()
    assert State.load(state.folder) == state


def test_the_process_of_a_member_is_recorded(state):
    assert state.identity("broker:1") is None
    started = state.start("broker:1")
    assert state.identity("broker:1") == started
    # A shell sets the mark's limit and then executes the program: in between /proc shows nothing.
    assert comes_true(lambda: started.has_environment("A", "b"), 5)
    assert comes_true(lambda: state.processes() == [started], 5)


def test_a_process_of_another_boot_is_no_member(state):
    state.start("broker:1")
    assert replace(state, boot="another").identity("broker:1") is None


def test_an_unrecorded_process_is_found_by_its_mark(state, tmp_path):
    env = {MARK: state.mark}
    lost = spawn(["sleep", "60"], log=tmp_path / "log", env=env, cwd=tmp_path)
    assert state.processes() == [lost]


@pytest.mark.parametrize("text", ["", "{", '{"schema": 1'])
def test_a_state_that_cannot_be_read_is_refused(state, text):
    (state.folder / "stack.json").write_text(text)
    with pytest.raises(RequestError, match=r"stack\.json"):
        State.load(state.folder)


def test_a_state_of_another_release_is_refused(state):
    state.save()
    data = json.loads((state.folder / "stack.json").read_text())
    (state.folder / "stack.json").write_text(json.dumps(data | {"schema": 99}))
    with pytest.raises(RequestError, match="release"):
        State.load(state.folder)


def test_the_error_for_a_held_lock_names_its_process(tmp_path):
    lock = tmp_path / "lock"
    holder = f"the stack .* \\(pid {os.getpid()}\\)"
    refused = pytest.raises(RequestError, match=holder)
    with file_lock(lock, "the stack"), refused, file_lock(lock, "the stack"):
        pytest.fail("two hold one lock")
    with file_lock(lock, "the stack"):
        pass


def test_shared_locks_exclude_only_exclusive_ones(tmp_path):
    lock = tmp_path / "lock"
    shared = partial(file_lock, lock, "it", is_shared=True)
    with shared(), shared(), pytest.raises(RequestError, match="pid"), file_lock(lock, "it"):
        pytest.fail("one is alone among others")
    with file_lock(lock, "it"), pytest.raises(RequestError), shared():
        pytest.fail("one shares what another has alone")
