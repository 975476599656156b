"""Verbs through the Docker engine: their proofs, and outcomes that prove nothing."""

import pytest

from onceproof.errors import RequestError, StackError
from onceproof.stacks.compose import composed_state
from onceproof.stacks.compose.verbs import kill, pause, start, stop
from onceproof.stacks.members.brokers import Broker
from tests.unit.scripted_engine import ALIVE, DEAD, engine

BROKER = Broker(composed_state(), 1)
KILLED = DEAD | {"ExitCode": 137}


def test_a_kill_is_proved_by_the_exit_of_the_same_container_start(monkeypatch, tmp_path):
    with engine(monkeypatch, tmp_path, ALIVE, ALIVE, KILLED) as orders:
        proof = kill(BROKER, "abc", [])
    assert orders == ["kill?signal=SIGKILL"]
    assert proof.pop("seconds") < 5
    assert proof == {
        "pid": 4712,
        "started": 1772359200123,
        "container": "abc",
        "started_at": "2026-03-01T10:00:00.123456789Z",
        "signal": "SIGKILL",
        "ended": [4712],
        "exit_code": 137,
    }


def test_a_container_that_ended_by_itself_was_not_killed(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE, DEAD | {"ExitCode": 1}),
        pytest.raises(StackError, match=r"itself.*1"),
    ):
        kill(BROKER, "abc", [])


def test_a_container_that_ended_before_the_signal_was_not_killed(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE, KILLED, refuses=["kill"]),
        pytest.raises(StackError, match="409"),
    ):
        kill(BROKER, "abc", [])


@pytest.mark.parametrize("verb", [kill, stop])
def test_a_restarted_container_proves_nothing(monkeypatch, tmp_path, verb):
    other = KILLED | {"StartedAt": "2026-03-01T10:00:09Z", "ExitCode": 137 * (verb is kill)}
    with (
        engine(monkeypatch, tmp_path, ALIVE, other),
        pytest.raises(StackError, match="restarted"),
    ):
        verb(BROKER, "abc", [])


def test_a_stop_that_ended_in_a_kill_raises(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE, KILLED),
        pytest.raises(StackError, match=r"60.*killed"),
    ):
        stop(BROKER, "abc", [])


def test_a_pause_is_proved_by_the_freezer(monkeypatch, tmp_path):
    with engine(monkeypatch, tmp_path, ALIVE, ALIVE, ALIVE | {"Paused": True}) as orders:
        assert pause(BROKER, "abc", [])["paused"] == [4712]
    assert orders == ["pause?"]


@pytest.mark.parametrize("verb", [kill, stop, pause])
@pytest.mark.parametrize("state", [DEAD, ALIVE | {"Paused": True}])
def test_a_dead_or_paused_container_is_not_struck(monkeypatch, tmp_path, verb, state):
    with engine(monkeypatch, tmp_path, state) as orders, pytest.raises(RequestError):
        verb(BROKER, "abc", [])
    assert orders == []


def test_a_start_reports_the_missing_members(monkeypatch, tmp_path):
    with engine(monkeypatch, tmp_path, DEAD, ALIVE) as orders:
        proof = start(BROKER, "abc", [])
    assert orders == ["start?"]
    assert (proof["changed"], proof["trouble"]) == (True, "waits for a majority of the brokers")


def test_a_paused_container_is_resumed_not_started(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE | {"Paused": True}),
        pytest.raises(RequestError, match="resume"),
    ):
        start(BROKER, "abc", [])
