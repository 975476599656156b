"""Faults of brokers and of transactions, on a stack in memory."""

from random import Random
from types import SimpleNamespace

import pytest

from onceproof.errors import StackError
from onceproof.faults import Scene
from onceproof.faults.registry import find_mechanism
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.runs.plan import FaultPart
from onceproof.sinks.protocol.coordinated import Seen


class Stack:
    """Two brokers, and the verbs applied to them."""

    brokers = Brokers(("b:1", "b:2"), PLAIN)

    def __init__(self):
        self.done = []

    def status(self):
        return [
            SimpleNamespace(name=f"broker:{one}", kind="broker", pid=one, healthy=True)
            for one in (1, 2)
        ]

    def apply(self, verb, target, rng):
        self.done.append((verb, target))
        return SimpleNamespace(proof={"pid": 7}, member="broker:2")


@pytest.fixture
def scene():
    topic = SimpleNamespace(topic="run.events")
    work = SimpleNamespace(output=SimpleNamespace(target="run.output"), input=topic)
    return Scene(work, Stack(), None, Random(7))


@pytest.fixture
def is_open(monkeypatch):
    found = ["onceproof:run.output:main:1:1:3:0:7:x"]
    monkeypatch.setattr("onceproof.faults.open_transaction.blockers", lambda target: found)
    return found


def fault(verb, target):
    return FaultPart("fault", verb, target, {"batch": 3})


def strike(scene, verb, target):
    return find_mechanism(verb, target).strike(fault(verb, target), scene)


def test_the_coordinator_is_that_of_an_open_transaction(scene, is_open):
    proof = strike(scene, "kill", "broker:coordinator")
    assert scene.stack.done == [("kill", f"broker:coordinator={is_open[0]}")]
    assert proof == {"pid": 7, "member": "broker:2"}


@pytest.mark.parametrize(
    ("verb", "target"), [("kill", "broker:coordinator"), ("hijack", "transaction")]
)
def test_without_an_open_transaction_nothing_is_struck(scene, is_open, verb, target):
    is_open.clear()
    with pytest.raises(StackError, match=r"run\.output"):
        strike(scene, verb, target)
    assert scene.stack.done == []


@pytest.mark.parametrize("state", ["CompleteCommit", "Ongoing"])
def test_an_id_is_hijacked_while_its_transaction_is_open(scene, is_open, monkeypatch, state):
    seen = iter([Seen(state, 7, 4), Seen("Empty", 7, 5)])
    coordinators = SimpleNamespace(look=lambda ids: {ids[0]: next(seen)}, close=lambda: None)
    taken = SimpleNamespace(init_transactions=lambda seconds: None)
    monkeypatch.setattr("onceproof.faults.hijack.Coordinators", lambda cluster: coordinators)
    monkeypatch.setattr("onceproof.faults.hijack.output_of", lambda scene: SimpleNamespace(name=""))
    cluster = SimpleNamespace(bulk=lambda *_, **__: taken)
    monkeypatch.setattr("onceproof.faults.hijack.Cluster", SimpleNamespace(of=lambda _: cluster))
    if state == "Ongoing":
        proof = strike(scene, "hijack", "transaction")
        assert (proof["before"]["epoch"], proof["after"]["epoch"]) == (4, 5)
    else:
        with pytest.raises(StackError, match="CompleteCommit"):
            strike(scene, "hijack", "transaction")


def test_each_broker_is_restarted_after_the_previous_one_is_in_sync(scene, monkeypatch):
    asked = []

    def are_in_sync(brokers, topic):
        asked.append((brokers.addresses, topic, len(scene.stack.done)))
        return len(asked) != 1

    monkeypatch.setattr("onceproof.faults.strike_brokers.are_in_sync", are_in_sync)
    proof = strike(scene, "restart", "broker:all")
    assert list(proof["members"]) == ["broker:1", "broker:2"]
    assert scene.stack.done == [
        *(("stop", "broker:1"), ("start", "broker:1")),
        *(("stop", "broker:2"), ("start", "broker:2")),
    ]
    assert [one[1:] for one in asked] == [("run.events", 2), ("run.events", 2), ("run.events", 4)]


def test_all_brokers_die_and_come_back(scene):
    proof = strike(scene, "kill", "broker:all")
    assert proof == {"members": {"broker:1": {"pid": 7}, "broker:2": {"pid": 7}}}
    find_mechanism("kill", "broker:all").heal(fault("kill", "broker:all"), scene, proof)
    assert scene.stack.done == [
        *(("kill", "broker:1"), ("kill", "broker:2")),
        *(("start", "broker:1"), ("start", "broker:2")),
    ]
