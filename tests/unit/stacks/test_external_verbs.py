"""Verbs of an external stack: the owner's commands, and the member's health before and after."""

import re
from random import Random

import pytest
import yaml

from onceproof.errors import RequestError, StackError
from onceproof.faults.abilities import refuse_unable
from onceproof.runs.plan import FaultPart
from onceproof.stacks.external import member as external_member
from onceproof.stacks.external import stack as external
from onceproof.stacks.external.stack import ExternalStack

MESSAGES = {
    "no effect": "store is still healthy after its kill command, so there is no proof",
    "unhealthy": "cannot kill store: it answers no query; start or resume it first",
}


@pytest.fixture
def stack(tmp_path, monkeypatch):
    """A stack whose store is healthy while a file exists, which its commands remove and create."""
    alive = tmp_path / "alive"
    alive.touch()
    file = tmp_path / "stack.yaml"

    def made(**commands):
        words_of = {"kill": ["rm", "alive"], "start": ["touch", "alive"]} | commands
        store = {name: words for name, words in words_of.items() if words}
        found = {"kafka": {"bootstrap": "here:1"}, "spark": "local[2]", "members": {"store": store}}
        file.write_text(yaml.safe_dump(found | {"store": "postgresql://me@here/db"}))
        return ExternalStack(file)

    def look(name, _):
        return "" if name != "store" or alive.exists() else "answers no query"

    monkeypatch.setattr(external_member, "look_at", look)
    monkeypatch.setattr(external_member, "_TAKES_HOLD_WITHIN_S", 0.3)
    monkeypatch.setattr(external_member, "_BETWEEN_S", 0.01)
    monkeypatch.setattr(external_member, "_SERVES_WITHIN_S", 0.3)
    return made


def test_a_verb_is_proved_by_the_health_before_and_after_it(stack):
    proof = stack().apply("kill", "store", Random(1)).proof
    assert proof.pop("seconds") < 5
    assert proof == {
        "command": ["rm", "alive"],
        "before": "it served",
        "after": "answers no query",
    }
    assert stack().apply("start", "store", Random(1)).proof["after"] == "it serves"


def test_a_command_without_an_effect_proves_nothing(stack):
    with pytest.raises(StackError, match=re.escape(MESSAGES["no effect"])):
        stack(kill=["true"]).apply("kill", "store", Random(1))


def test_a_check_that_fails_now_and_then_proves_nothing(stack, monkeypatch):
    struck = stack(kill=["touch", "struck"])
    looks = iter(["timed out", "timed out", ""] * 1000)
    monkeypatch.setattr(
        external_member,
        "look_at",
        lambda *_: next(looks) if struck.external.file.with_name("struck").exists() else "",
    )
    with pytest.raises(StackError, match=re.escape(MESSAGES["no effect"])):
        struck.apply("kill", "store", Random(1))


def test_an_unhealthy_member_cannot_be_struck(stack):
    found = stack()
    found.apply("kill", "store", Random(1))
    with pytest.raises(RequestError, match=re.escape(MESSAGES["unhealthy"])):
        found.apply("kill", "store", Random(1))


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["no-such-program"], "no-such-program"),
        (["sh", "-c", "echo not allowed >&2; exit 4"], "4: not allowed"),
    ],
)
def test_a_failed_command_is_quoted(stack, words, output):
    with pytest.raises(StackError, match=re.escape(output)):
        stack(kill=words).apply("kill", "store", Random(1))


def test_a_cure_without_an_effect_raises_the_remaining_trouble(stack):
    found = stack(start=["true"])
    found.apply("kill", "store", Random(1))
    with pytest.raises(StackError, match=r"store.*query"):
        found.apply("start", "store", Random(1))


def test_heal_tries_every_cure_of_an_unhealthy_member(stack, tmp_path):
    found = stack(pause=["rm", "alive"], resume=["false"])
    found.apply("pause", "store", Random(1))
    found.heal()
    assert (tmp_path / "alive").exists()


def test_any_broker_is_one_that_has_the_verb(stack, monkeypatch):
    found = stack()
    brokers = {name: {"address": f"here:{name[-1]}"} for name in ("broker:1", "broker:2")}
    brokers["broker:2"] |= {"kill": ["rm", "alive"], "start": ["touch", "alive"]}
    text = yaml.safe_load(found.external.file.read_text())
    found.external.file.write_text(yaml.safe_dump(text | {"members": brokers}))
    others = {"broker:1": "here:1", "broker:2": "here:2", "broker:3": "here:3"}
    monkeypatch.setattr(external, "brokers_of", lambda _: others)
    alive = found.external.file.with_name("alive")
    monkeypatch.setattr(external_member, "look_at", lambda *_: "" if alive.exists() else "is dead")
    reopened = ExternalStack(found.external.file)
    for seed in range(5):
        alive.touch()
        assert reopened.apply("kill", "broker:any", Random(seed)).member == "broker:2"
    with pytest.raises(RequestError, match=r"broker:3.*broker:2"):
        reopened.apply("kill", "broker:3", Random(1))


def test_all_brokers_are_struck_only_if_brokers_have_commands(stack):
    fault = FaultPart("kill_all", "kill", "broker:all", {"batch": 1})
    with pytest.raises(RequestError, match=r"broker:all.*store"):
        refuse_unable(stack(), [fault])
