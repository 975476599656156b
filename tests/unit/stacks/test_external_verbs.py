"""Verbs of an external stack: the owner's commands, and what was seen before and after them."""

from random import Random

import pytest
import yaml

from onceproof.errors import RequestError, StackError
from onceproof.faults.abilities import refuse_unable
from onceproof.runs.plan import FaultPart
from onceproof.stacks.external import member as external_member
from onceproof.stacks.external import stack as external
from onceproof.stacks.external.stack import ExternalStack


@pytest.fixture
def stack(tmp_path, monkeypatch):
    """A stack whose store serves as long as a file is there, which its commands take and make."""
    alive = tmp_path / "alive"
    alive.touch()
    file = tmp_path / "stack.yaml"

    def made(**commands):
        told = {"kill": ["rm", "alive"], "start": ["touch", "alive"]} | commands
        store = {name: words for name, words in told.items() if words}
        found = {"kafka": {"bootstrap": "here:1"}, "spark": "local[2]", "members": {"store": store}}
        file.write_text(yaml.safe_dump(found | {"store": "postgresql://me@here/db"}))
        return ExternalStack(file)

    def look(name, _):
        return "" if name != "store" or alive.exists() else "it answers no query"

    monkeypatch.setattr(external_member, "look_at", look)
    monkeypatch.setattr(external_member, "_TAKES_HOLD_WITHIN_S", 0.3)
    monkeypatch.setattr(external_member, "_BETWEEN_S", 0.01)
    monkeypatch.setattr(external_member, "_SERVES_WITHIN_S", 0.3)
    return made


def test_a_verb_is_proved_by_what_was_seen_before_and_after_it(stack):
    proof = stack().apply("kill", "store", Random(1)).proof
    assert proof.pop("seconds") < 5
    assert proof == {
        "command": ["rm", "alive"],
        "before": "it served",
        "after": "it answers no query",
    }
    assert stack().apply("start", "store", Random(1)).proof["after"] == "it serves"


def test_a_command_that_struck_nobody_proves_nothing(stack):
    with pytest.raises(StackError, match="store serves on after its kill command: nothing proves"):
        stack(kill=["true"]).apply("kill", "store", Random(1))


def test_a_look_that_fails_now_and_then_proves_nothing(stack, monkeypatch):
    struck = stack(kill=["touch", "struck"])
    looks = iter(["timed out", "timed out", ""] * 1000)
    monkeypatch.setattr(
        external_member,
        "look_at",
        lambda *_: next(looks) if struck.external.file.with_name("struck").exists() else "",
    )
    with pytest.raises(StackError, match="store serves on after its kill command: nothing proves"):
        struck.apply("kill", "store", Random(1))


def test_who_does_not_serve_cannot_be_struck(stack):
    found = stack()
    found.apply("kill", "store", Random(1))
    with pytest.raises(RequestError, match=r"store does not serve .* nothing to kill"):
        found.apply("kill", "store", Random(1))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-program"], "its kill command, no-such-program, cannot be started"),
        (["sh", "-c", "echo not allowed >&2; exit 4"], "sh, ended with 4: not allowed"),
    ],
)
def test_a_command_that_fails_is_quoted(stack, words, said):
    with pytest.raises(StackError, match=said):
        stack(kill=words).apply("kill", "store", Random(1))


def test_a_cure_that_does_not_lead_to_service_says_what_is_lacking(stack):
    found = stack(start=["true"])
    found.apply("kill", "store", Random(1))
    with pytest.raises(StackError, match=r"store does not serve .*: it answers no query"):
        found.apply("start", "store", Random(1))


def test_what_is_dead_at_the_end_is_healed_by_whatever_cures_there_are(stack, tmp_path):
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
    monkeypatch.setattr(
        external_member, "look_at", lambda *_: "" if alive.exists() else "it is not there"
    )
    again = ExternalStack(found.external.file)
    for seed in range(5):
        alive.touch()
        assert again.apply("kill", "broker:any", Random(seed)).member == "broker:2"
    with pytest.raises(RequestError, match="cannot kill broker:3: it can kill, start broker:2"):
        again.apply("kill", "broker:3", Random(1))


def test_every_broker_is_struck_only_where_brokers_have_commands(stack):
    fault = FaultPart("kill_all", "kill", "broker:all", {"batch": 1})
    with pytest.raises(RequestError, match="cannot kill broker:all: it can kill, start store"):
        refuse_unable(stack(), [fault])
