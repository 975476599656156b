"""A policy is read whole, or refused with every mistake at its line."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from onceproof.errors import RequestError
from onceproof.gates.policy import Need, read_policy, read_text
from onceproof.gates.schema import policy_schema
from onceproof.scenario import load_catalogue
from onceproof.schema.json_schema import text_of

ROOT = Path(__file__).parents[3]
ONE = "copy_events__two_phase_table__kill_driver"
SOUND = f"""\
require:
  - scenario: {ONE}
    passes: 3
    seeds: 2
    max_age: 36h
    landed: 3
  - tag: control
known_issues: [1, late_commit]
"""


def test_a_policy_is_read_from_its_file():
    policy = read_text(SOUND, "gate.yaml")
    assert policy.needs[0] == Need(ONE, 3, 2, timedelta(hours=36), 3)
    controls = [one.name for one in load_catalogue() if "control" in one.tags]
    assert list(policy.needs[1:]) == [Need(name) for name in controls]
    assert policy.known_issues == (1, "late_commit")


def test_one_pass_of_any_age_is_the_default():
    assert read_text(f"require: [{{scenario: {ONE}}}]", "g").needs == (Need(ONE, 1, 1, None, 0),)


def test_a_scenario_outside_the_catalogue_is_named_by_its_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: copy_events__append_table__calm_mine\npipeline: copy_events\nsink: append_table\n"
    )
    policy = read_text(f"require: [{{scenario: '{file}'}}]", "g")
    assert policy.needs == (Need("copy_events__append_table__calm_mine"),)


@pytest.mark.parametrize(
    ("sound", "bad", "said"),
    [
        (
            "passes: 3",
            "pases: 3",
            "g:3: require[0].pases: unknown key 'pases'; did you mean",
        ),
        (
            "passes: 3",
            "passes: three",
            "g:3: require[0].passes: invalid value 'three'; use a whole",
        ),
        ("passes: 3", "passes: 0", "g:3: require[0].passes: invalid value 0"),
        ("passes: 3", "passes: true", "g:3: require[0].passes: invalid value True"),
        (
            "max_age: 36h",
            "max_age: 36",
            "g:5: require[0].max_age: invalid value 36; use a time such as",
        ),
        ("max_age: 36h", "max_age: 0h", "g:5: require[0].max_age: invalid value '0h'"),
        (
            "seeds: 2",
            "seeds: 4",
            "g:4: require[0].seeds: 3 runs cannot have 4 seeds; write passes: 4",
        ),
        (ONE, ONE.replace("driver", "drivr"), "g:2: require[0].scenario: unknown scenario"),
        (ONE, ONE.replace("driver", "drivr"), f"did you mean {ONE!r}"),
        (
            "tag: control",
            "tag: contrl",
            "g:7: require[1].tag: unknown tag 'contrl'; did you mean",
        ),
        (
            "tag: control",
            "passes: 1",
            "g:7: require[1]: needs either scenario or tag",
        ),
        (
            "  - tag: control",
            f"  - {{tag: control, scenario: {ONE}}}",
            "g:7: require[1]: needs either scenario or tag",
        ),
        ("[1, late_commit]", "1", "g:8: known_issues: invalid value 1; use a list"),
        (
            "[1, late_commit]",
            "[0]",
            "g:8: known_issues[0]: invalid value 0; use the number or the name",
        ),
        ("known_issues", "knwon_issues", "'known_issues'"),
        (
            "require:",
            "require: []\nother:",
            "g:1: require",
        ),
        ("require:", "needs:", "require"),
    ],
)
def test_a_mistake_is_reported_at_its_line(sound, bad, said):
    with pytest.raises(RequestError) as refused:
        read_text(SOUND.replace(sound, bad, 1), "g")
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["", "  \n", "[]", "word", "require: ["])
def test_a_file_without_a_policy_is_refused(text):
    with pytest.raises(RequestError, match=r"^g"):
        read_text(text, "g")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RequestError, match=r"gate\.yaml"):
        read_policy(tmp_path / "gate.yaml")


def test_the_schema_of_policies_is_up_to_date():
    written = (ROOT / "docs/schemas/policy.json").read_text()
    assert written == text_of(policy_schema()), "python -m onceproof.gates.schema docs/schemas/..."


def test_the_schema_marks_what_an_editor_should():
    schema = Draft202012Validator(json.loads((ROOT / "docs/schemas/policy.json").read_text()))
    assert schema.is_valid(yaml.safe_load(SOUND))
    for bad in ("pases: 3", "passes: 0", "tag: x"):
        assert not schema.is_valid(yaml.safe_load(SOUND.replace("passes: 3", bad)))
    assert not schema.is_valid({"require": []})


def test_the_policy_of_the_page_is_one():
    (text,) = re.findall(
        r"```yaml\n(require:.*?)```", (ROOT / "docs/gate/policy.md").read_text(), re.DOTALL
    )
    asked = Need(ONE, 3, 2, timedelta(hours=36), 3, "retried", 20, 0.95, "refuse")
    assert read_text(text, "gate.yaml").needs[0] == asked
