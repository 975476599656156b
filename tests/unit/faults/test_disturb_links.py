"""Faults of links: the rules that they put in force, and their removal."""

import threading
from contextlib import nullcontext
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest

from onceproof.errors import RequestError, StackError
from onceproof.faults import ATTEMPT_ENDS, Scene, disturb_links
from onceproof.faults.abilities import needs_links
from onceproof.faults.registry import find_mechanism
from onceproof.job.disturb import Disturbance
from onceproof.runs.history import History
from onceproof.runs.plan import FaultPart
from onceproof.runs.records import Op
from onceproof.stacks.links.verbs import disturb, lacks_links

WORK = SimpleNamespace(run="run_1", input=SimpleNamespace(topic="events"))


@pytest.fixture
def asked(monkeypatch):
    """The rules given to the links, without links."""
    found = []

    def ask(stack, rule, target, source, rng, begun):
        begun()
        found.append((rule, target, source))
        return {"rule": {"name": rule.name}, "counts": {"reset": 1}}

    monkeypatch.setattr(disturb_links, "disturb", ask)
    return found


def strike(verb, target, point=None, **how):
    fault = FaultPart("far", verb, target, {}, how)
    scene = Scene(WORK, SimpleNamespace(name="x"), None, Random(7), point)
    return find_mechanism(verb, target).strike(fault, scene)


def test_a_rule_is_the_runs_own_and_means_its_own_driver(asked):
    strike("cut", "broker:leader=2", **{"from": "driver", "until": ATTEMPT_ENDS})
    ((rule, target, source),) = asked
    assert (rule.name, rule.do, target) == ("run_1/far", "cut", "broker:leader=events/2")
    assert source == "driver=run_1"


def test_options_have_defaults(asked):
    strike("delay", "store")
    strike("rate", "broker:all", kbytes=5)
    strike("blackhole", "broker:any", way="answers", **{"from": "brokers"})
    rules = [rule for rule, _, _ in asked]
    assert [(rule.ms, rule.kbytes) for rule in rules] == [(300, 0), (0, 5), (0, 0)]
    assert [rule.ways for rule in rules] == [("requests", "answers")] * 2 + [("answers",)]
    assert [source for _, _, source in asked] == ["anyone", "anyone", "brokers"]


def test_a_process_at_the_failpoint_goes_on_when_the_rule_is_in_force(asked):
    gone_on = []
    strike("cut", "store", SimpleNamespace(let_go=lambda: gone_on.append(len(asked))))
    assert gone_on == [0]


def test_a_stack_without_links_refuses_faults_of_links():
    stack = SimpleNamespace(name="external:mine.yaml")
    assert "external:mine.yaml" in lacks_links(stack)
    with pytest.raises(RequestError, match=r"mine\.yaml"):
        disturb(stack, None, "store", "anyone", Random(7))
    fault = FaultPart("far", "cut", "store", {})
    assert needs_links([fault])
    assert not needs_links([replace(fault, verb="kill")])
    scene = Scene(WORK, stack, None, Random(7))
    healed = find_mechanism("cut", "store").heal(fault, scene, {"rule": {"name": "gone"}})
    assert healed == {"counts": {}, "changed": False}


class Driver:
    """A driver that gives up after this number of looks."""

    pid = 7

    def __init__(self, looks):
        self.looks = looks

    @property
    def is_alive(self):
        self.looks -= 1
        return self.looks > 0


@pytest.mark.parametrize(
    ("looks", "fails", "why"),
    [
        (5, False, ""),
        (5, True, "the links take no orders"),
        (10**9, False, "the driver had not given up when this was healed"),
    ],
)
def test_a_fault_that_is_to_outlast_the_job_is_healed_when_its_driver_has_ended(
    tmp_path, monkeypatch, looks, fails, why
):
    monkeypatch.setattr("onceproof.job.disturb._GIVES_UP_WITHIN_S", 1)
    driver = Driver(looks)
    healed = []

    def heal(*_):
        healed.append(driver.looks)
        if fails:
            raise StackError("the links take no orders")
        return {"changed": True}

    mechanism = replace(
        disturb_links.MECHANISM, strike=lambda *_: {"counts": {"reset": 1}}, heal=heal
    )
    monkeypatch.setattr("onceproof.job.disturb.find_mechanism", lambda *_: mechanism)
    fault = FaultPart("far", "cut", "store", {"batch": 0}, {"until": ATTEMPT_ENDS})
    progress = SimpleNamespace(open_batch=lambda: 0, close=lambda: None)
    archive = SimpleNamespace(newest=(0, -1), catch_up=lambda: None, lock=nullcontext())
    job = SimpleNamespace(driver=lambda: [driver])
    scene = Scene(WORK, None, job, Random(7))
    history = History(tmp_path / "history.jsonl")
    stop = threading.Event()
    Disturbance(fault, None, scene, progress, archive, history, stop).carry_out()
    strike_record, heal_record = history.read()
    assert (strike_record.op, strike_record.is_ok) == (Op.FAULT_STRIKE, True)
    assert (heal_record.op, heal_record.is_ok) == (Op.FAULT_HEAL, not why)
    (looks_left,) = healed
    assert (looks_left <= 0) is (looks == 5)
    result = {} if fails else {"changed": True}
    assert heal_record.proof == ({"reason": why} if why else {}) | result
