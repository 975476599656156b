"""The formats of a gate's decision, for people, for programs and for CI systems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree as Xml

from onceproof.gates.decide import Decision, Kind, Reason
from onceproof.judging.report.junit import plain_text
from onceproof.judging.report.text import printable

_MARK = {Kind.FAILURE: "✗", Kind.LACK: "?", Kind.ACCEPTED: "!", Kind.MET: "✓"}
_PROBLEM = {Kind.FAILURE: "failure", Kind.LACK: "error"}
_ANNOTATION = {Kind.FAILURE: "error", Kind.LACK: "error", Kind.ACCEPTED: "warning"}


def headline(decision: Decision) -> str:
    """Return the decision in one line."""
    states = {0: "open", 1: "closed: a run failed", 2: "closed: not enough evidence"}
    return f"The gate for {printable(decision.version)} is {states[decision.exit]}"


def to_text(decision: Decision) -> str:
    """Return the decision for a terminal, with what closes the gate first."""
    return "\n".join(
        [headline(decision), *(f"{_MARK[r.kind]} {_line(r)}" for r in _sorted(decision))]
    )


def to_document(decision: Decision) -> dict[str, Any]:
    """Return the decision for other programs; docs/schemas/gate.json is its schema."""
    reasons = [asdict(reason) | {"run": reason.run or None} for reason in _sorted(decision)]
    return {
        "open": decision.open,
        "exit": decision.exit,
        "version": decision.version,
        "reasons": [one | {"scenario": one["scenario"] or None} for one in reasons],
    }


def to_junit(decision: Decision) -> str:
    """Return the decision as JUnit XML: one case per scenario, and one for other reasons."""
    suite = Xml.Element("testsuite", name="onceproof gate")
    for scenario in dict.fromkeys(reason.scenario for reason in decision.reasons):
        case = Xml.SubElement(
            suite, "testcase", classname="gate", name=plain_text(scenario or "version")
        )
        mine = [reason for reason in _sorted(decision) if reason.scenario == scenario]
        text = plain_text("\n".join(map(_line, mine)))
        if problem := _PROBLEM.get(mine[0].kind):
            Xml.SubElement(case, problem, message=plain_text(mine[0].reason)).text = text
        else:
            Xml.SubElement(case, "system-out").text = text
    suite.set("tests", str(len(suite)))
    for name in _PROBLEM.values():
        suite.set(f"{name}s", str(len(suite.findall(f"testcase/{name}"))))
    Xml.indent(suite)
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def to_annotations(decision: Decision) -> str:
    """Return the workflow commands of GitHub Actions: what closes the gate or was accepted."""
    lines = [
        f"::{_ANNOTATION[reason.kind]} title=onceproof gate::{_escaped(_line(reason))}"
        for reason in _sorted(decision)
        if reason.kind in _ANNOTATION
    ]
    kind = "notice" if decision.open else "error"
    return "\n".join([f"::{kind} title=onceproof gate::{_escaped(headline(decision))}", *lines])


def to_summary(decision: Decision) -> str:
    """Return the decision as Markdown, for the summary of a workflow."""
    rows = [
        f"| {_MARK[r.kind]} | {_cell(r.scenario)} | {_cell(r.reason)} | {_cell(r.run)} |"
        for r in _sorted(decision)
    ]
    return "\n".join(
        [
            f"### {_cell(headline(decision))}",
            "",
            "| | Scenario | Why | Run |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _sorted(decision: Decision) -> Iterable[Reason]:
    return sorted(decision.reasons, key=lambda reason: list(Kind).index(reason.kind))


def _line(reason: Reason) -> str:
    parts = [reason.scenario, reason.reason]
    text = printable(": ".join(filter(None, parts)))
    return f"{text} (run {printable(reason.run)})" if reason.run else str(text)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _cell(text: str) -> str:
    plain = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{sign}" if sign in "\\|`*_[]" else sign for sign in plain)
