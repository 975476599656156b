"""The verdict as coloured text for a terminal.

No line is broken here: a terminal does that, and a path or a command is still copied whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from onceproof.judging.report.html import NOTHING
from onceproof.runs.evidence import ROW_CLASSES
from onceproof.verdict import Status

_STYLE = {"PASS": "bold green", "UNKNOWN": "bold yellow", "FAIL": "bold red"}
_MARK = {"PASS": "✓", "UNKNOWN": "?", "FAIL": "✗"}
# How a finding is marked, in the order in which they are shown.
_MARKS = {
    Status.FAILED: (_MARK["FAIL"], _STYLE["FAIL"]),
    Status.UNKNOWN: (_MARK["UNKNOWN"], _STYLE["UNKNOWN"]),
    Status.ALLOWED: ("•", ""),
    Status.PASSED: (_MARK["PASS"], _STYLE["PASS"]),
    Status.NOT_APPLICABLE: (NOTHING, "dim"),
}


def print_verdict(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the verdict first, then its reasons, findings, faults and how to replay."""
    document = printable(document)
    shown = [
        _headline(document),
        _lines(set(document["reasons"]) - {f["reason"] for f in document["findings"]}),
        _findings(document["findings"]),
        _differences(document),
        _lines(one["sentence"] for one in document["blame"]),
        Text(f"replay  {document['replay']}\nreport  {document['run']}/report.html"),
    ]
    told = [part for part in shown if part is not None]
    (console or Console(highlight=False)).print(Text("\n\n").join(told), soft_wrap=True)


def printable(value: Any) -> Any:
    """Return the document without anything that a terminal would obey or could not show."""
    if isinstance(value, dict):
        return {name: printable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [printable(each) for each in value]
    if isinstance(value, str):
        return "".join(
            sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in value
        )
    return value


def _headline(document: Mapping[str, Any]) -> Text:
    grade = document["verdict"]
    said = "as claimed" if document["as_claimed"] else "not as claimed"
    return Text.assemble(
        (f"{_MARK[grade]} {grade}", _STYLE[grade]),
        f"  {document['scenario'] or document['run']}, {said}",
        f" ({document['claims'] or 'no claim is known'}"
        f" under {document['hold_to'] or 'no known guarantee'})",
    )


def _lines(sentences: Iterable[str]) -> Text | None:
    said = sorted(set(filter(None, sentences)))
    return Text("\n".join(said)) if said else None


def _findings(findings: list[Mapping[str, Any]]) -> Text:
    """Return a line for each finding, and one for all that follow from another.

    First is what decided the verdict, then what was checked, then what did not apply.
    """
    own = [one for one in findings if "caused_by" not in one]
    width = max(len(one["checker"]) for one in own)
    lines = []
    for one in sorted(own, key=lambda one: list(_MARKS).index(one["status"])):
        lines.append(_marked(one["status"], f"{one['checker']:{width}}  {one['reason']}"))
        follow = [each["checker"] for each in findings if each.get("caused_by") == one["checker"]]
        if follow:
            said = f"{len(follow)} more are UNKNOWN because of it: {', '.join(follow)}"
            lines.append(_marked(Status.UNKNOWN, said))
    return Text("\n").join(lines)


def _marked(status: str, said: str) -> Text:
    mark, style = _MARKS[Status(status)]
    return Text.assemble((mark, style), (f"  {said}", style if style == "dim" else ""))


def _differences(document: Mapping[str, Any]) -> Text:
    found = {name: count for name, count in document["differences"].items() if count}
    said = [f"{count:,} {name}" for name, count in found.items()]
    if not set(ROW_CLASSES) & set(document["counted"]):
        said.append("not compared" if not said else "rows not compared")
    return Text(f"differences: {', '.join(said) or 'none'}")
