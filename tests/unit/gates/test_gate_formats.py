"""The formats of a decision for CI systems, programs and people."""

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from jsonschema import Draft202012Validator

from onceproof.gates.decide import Decision, Kind, Reason
from onceproof.gates.formats import to_annotations, to_document, to_junit, to_summary, to_text

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/schemas/gate.json").read_text())
CLOSED = Decision(
    False,
    1,
    "v1",
    (
        Reason(Kind.LACK, "", "Version v1+dirty had changes"),
        Reason(Kind.MET, "calm", "As asked for", "run_3"),
        Reason(Kind.FAILURE, "kill", "100% wrong\nand more ::error::", "run_1"),
        Reason(Kind.LACK, "kill", "Runs: 1", "run_1"),
    ),
)
OPEN = Decision(
    True,
    0,
    "v1",
    (Reason(Kind.MET, "calm", "As asked for", "r"), Reason(Kind.ACCEPTED, "calm", "Known", "r")),
)


@pytest.mark.parametrize("decision", [CLOSED, OPEN])
def test_the_document_fits_its_schema(decision):
    document = {"schema": 1} | to_document(decision)
    Draft202012Validator(SCHEMA).validate(document)
    assert (document["open"], document["exit"]) == (decision.open, decision.exit)


def test_what_closes_the_gate_comes_first():
    assert [one["kind"] for one in to_document(CLOSED)["reasons"]] == [
        "failure",
        "lack",
        "lack",
        "met",
    ]
    assert to_text(CLOSED).splitlines()[:2] == [
        "The gate for v1 is closed: a run failed",
        "✗ kill: 100% wrong\N{REPLACEMENT CHARACTER}and more ::error:: (run run_1)",
    ]
    assert to_text(OPEN).startswith("The gate for v1 is open\n! calm: Known (run r)\n✓ calm")


def test_a_scenario_is_one_case():
    suite = parsed(CLOSED)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [case.get("name") for case in suite] == ["version", "calm", "kill"]
    assert suite.find("testcase[@name='calm']/system-out") is not None
    assert parsed(OPEN).get("errors") == "0"


def parsed(decision):
    return Xml.fromstring(to_junit(decision))  # noqa: S314


def test_no_reason_can_speak_to_the_workflow():
    lines = to_annotations(CLOSED).splitlines()
    assert lines[0] == "::error title=onceproof gate::The gate for v1 is closed: a run failed"
    assert lines[1].startswith("::error title=onceproof gate::kill: 100%25 wrong")
    assert len(lines) == 4
    assert to_annotations(OPEN).splitlines() == [
        "::notice title=onceproof gate::The gate for v1 is open",
        "::warning title=onceproof gate::calm: Known (run r)",
    ]


def test_the_summary_is_a_table_that_no_reason_breaks():
    odd = Decision(False, 2, "v|1", (Reason(Kind.LACK, "a", "b|c <script> `x`", "r_1"),))
    assert to_summary(odd).splitlines() == [
        "### The gate for v\\|1 is closed: not enough evidence",
        "",
        "| | Scenario | Why | Run |",
        "|---|---|---|---|",
        "| ? | a | b\\|c &lt;script> \\`x\\` | r\\_1 |",
    ]
