"""The sample policy: printed by the command, in the wheel, and one that the parser takes."""

from onceproof.cli import carry_out
from onceproof.gates.fields import NEED, POLICY
from onceproof.gates.policy import read_text
from onceproof.scenario import load_catalogue


def printed(capsys):
    assert carry_out(["gate", "--example"]) == 0
    return capsys.readouterr().out


def test_the_printed_example_is_a_policy_that_asks_for_a_rate_of_every_scenario(capsys):
    needs = read_text(printed(capsys), "gate.yaml").needs
    assert {need.rate for need in needs} == {0.95}
    tagged = {one.name for one in load_catalogue() if {"control", "nightly"} & set(one.tags)}
    assert {need.scenario for need in needs} >= tagged


def test_the_example_shows_every_field(capsys):
    text = printed(capsys)
    for name in (*NEED.fields, *POLICY.fields):
        assert f"{name}:" in text, name


def test_the_error_without_a_policy_names_the_example(capsys):
    assert carry_out(["gate", "--version", "v1"]) == 3
    assert (
        "--policy is missing; write the policy's file; `onceproof gate --example` prints one"
        in (capsys.readouterr().err)
    )
