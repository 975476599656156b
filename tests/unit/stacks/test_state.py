import json
import os
import signal
from dataclasses import replace
from functools import partial

import pytest

from onceproof.errors import RequestError
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.stacks.state import MARK, Launch, State, held


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
    wait_for(lambda: not made.processes(), 5, "they do not die")


def test_a_state_is_read_back_as_it_was_written(state):
    assert State.load(state.folder) is None
    state.save()
    assert State.load(state.folder) == state


def test_a_member_is_known_again_by_who_it_was(state):
    assert state.identity("broker:1") is None
    started = state.start("broker:1")
    assert state.identity("broker:1") == started
    assert started.has_environment("A", "b")
    assert state.processes() == [started]


def test_a_member_of_another_boot_is_nobody(state):
    state.start("broker:1")
    assert replace(state, boot="another").identity("broker:1") is None


def test_a_process_nobody_wrote_down_is_found_by_its_mark(state, tmp_path):
    env = {MARK: state.mark}
    lost = spawn(["sleep", "60"], log=tmp_path / "log", env=env, cwd=tmp_path)
    assert state.processes() == [lost]


@pytest.mark.parametrize("text", ["", "{", '{"schema": 1'])
def test_a_state_that_cannot_be_read_is_said(state, text):
    (state.folder / "stack.json").write_text(text)
    with pytest.raises(RequestError, match=r"stack\.json is no state of a stack"):
        State.load(state.folder)


def test_a_state_of_another_release_is_refused(state):
    state.save()
    data = json.loads((state.folder / "stack.json").read_text())
    (state.folder / "stack.json").write_text(json.dumps(data | {"schema": 99}))
    with pytest.raises(RequestError, match="written by another release"):
        State.load(state.folder)


def test_a_lock_that_is_held_names_its_holder(tmp_path):
    lock = tmp_path / "lock"
    said = f"the stack is held by .* \\(pid {os.getpid()}\\)"
    with held(lock, "the stack"), pytest.raises(RequestError, match=said), held(lock, "the stack"):
        pytest.fail("two hold one lock")
    with held(lock, "the stack"):
        pass


def test_those_who_share_a_lock_keep_out_only_one_who_wants_it_alone(tmp_path):
    lock = tmp_path / "lock"
    shared = partial(held, lock, "it", is_shared=True)
    with shared(), shared(), pytest.raises(RequestError, match="it is held"), held(lock, "it"):
        pytest.fail("one is alone among others")
    with held(lock, "it"), pytest.raises(RequestError), shared():
        pytest.fail("one shares what another has alone")
