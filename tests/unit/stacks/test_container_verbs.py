"""Verbs through the Docker engine: what proves them, and what proves nothing."""

import pytest

from onceproof.errors import RequestError, StackError
from onceproof.stacks.compose import composed_state
from onceproof.stacks.compose.verbs import kill, pause, start, stop
from onceproof.stacks.members.brokers import Broker
from tests.unit.engine_of_paper import ALIVE, DEAD, engine

BROKER = Broker(composed_state(), 1)
KILLED = DEAD | {"ExitCode": 137}


def test_a_kill_is_proved_by_the_life_that_it_ended(monkeypatch, tmp_path):
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
        pytest.raises(StackError, match="ended by itself, with 1: nothing struck"),
    ):
        kill(BROKER, "abc", [])


def test_a_container_that_ended_before_the_signal_was_not_killed(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE, KILLED, refuses=["kill"]),
        pytest.raises(StackError, match=r"refused POST .*409.*not running"),
    ):
        kill(BROKER, "abc", [])


@pytest.mark.parametrize("verb", [kill, stop])
def test_a_container_that_somebody_started_anew_proves_nothing(monkeypatch, tmp_path, verb):
    other = KILLED | {"StartedAt": "2026-03-01T10:00:09Z", "ExitCode": 137 * (verb is kill)}
    with (
        engine(monkeypatch, tmp_path, ALIVE, other),
        pytest.raises(StackError, match="started anew"),
    ):
        verb(BROKER, "abc", [])


def test_a_stop_that_needed_the_kill_is_none(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE, KILLED),
        pytest.raises(StackError, match="did not end within 60 s and was killed"),
    ):
        stop(BROKER, "abc", [])


def test_a_pause_is_proved_by_the_freezer(monkeypatch, tmp_path):
    with engine(monkeypatch, tmp_path, ALIVE, ALIVE, ALIVE | {"Paused": True}) as orders:
        assert pause(BROKER, "abc", [])["paused"] == [4712]
    assert orders == ["pause?"]


@pytest.mark.parametrize("verb", [kill, stop, pause])
@pytest.mark.parametrize("state", [DEAD, ALIVE | {"Paused": True}])
def test_what_is_not_there_to_be_struck_is_not_struck(monkeypatch, tmp_path, verb, state):
    with engine(monkeypatch, tmp_path, state) as orders, pytest.raises(RequestError):
        verb(BROKER, "abc", [])
    assert orders == []


def test_a_start_says_what_is_missing_before_it_can_serve(monkeypatch, tmp_path):
    with engine(monkeypatch, tmp_path, DEAD, ALIVE) as orders:
        proof = start(BROKER, "abc", [])
    assert orders == ["start?"]
    assert (proof["changed"], proof["trouble"]) == (True, "it waits for a majority of the brokers")


def test_a_paused_container_is_resumed_not_started(monkeypatch, tmp_path):
    with (
        engine(monkeypatch, tmp_path, ALIVE | {"Paused": True}),
        pytest.raises(RequestError, match="resume it"),
    ):
        start(BROKER, "abc", [])
