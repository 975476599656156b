"""The verdict as coloured text for a terminal.

Lines are not wrapped, so that a path or a command can be copied from the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from onceproof.judging.report.html import NOTHING
from onceproof.runs.evidence import ROW_CLASSES
from onceproof.verdict import Status, report_order

_STYLE = {"PASS": "bold green", "UNKNOWN": "bold yellow", "FAIL": "bold red"}
_MARK = {"PASS": "✓", "UNKNOWN": "?", "FAIL": "✗"}
# The mark and the style of a finding, by its status.
_MARKS = {
    Status.FAILED: (_MARK["FAIL"], _STYLE["FAIL"]),
    Status.UNKNOWN: (_MARK["UNKNOWN"], _STYLE["UNKNOWN"]),
    Status.PASSED: (_MARK["PASS"], _STYLE["PASS"]),
    Status.ALLOWED: ("•", ""),
    Status.NOT_APPLICABLE: (NOTHING, "dim"),
}


def print_verdict(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the verdict, its reasons and findings, the differences and the replay command."""
    document = printable(document)
    of_findings = {finding["reason"] for finding in document["findings"]}
    parts = [
        _headline(document),
        _outputs(document.get("outputs", {})),
        _lines(one for one in document["reasons"] if one not in of_findings),
        _findings(document["findings"]),
        _differences(document),
        _lines(one["sentence"] for one in document["blame"]),
        Text(f"replay  {document['replay']}\nreport  {document['run']}/report.html"),
    ]
    text = Text("\n\n").join(part for part in parts if part is not None)
    (console or Console(highlight=False)).print(text, soft_wrap=True)


def printable(value: Any) -> Any:
    """Return the document without control sequences and characters that cannot be printed."""
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
    outcome = "as claimed" if document["as_claimed"] else "not as claimed"
    return Text.assemble(
        (f"{_MARK[grade]} {grade}", _STYLE[grade]),
        f"  {document['scenario'] or document['run']}, {outcome}",
        f" ({document['claims'] or 'no claim is known'}"
        f" under {document['hold_to'] or 'no known guarantee'})",
    )


def _outputs(outputs: Mapping[str, Mapping[str, Any]]) -> Text | None:
    """Return a line for each output of a run with several."""
    if not outputs:
        return None
    width = max(map(len, outputs))
    lines = [
        Text.assemble(
            (f"{_MARK[one['verdict']]} {one['verdict']:7}", _STYLE[one["verdict"]]),
            f"  {name:{width}}  {'as claimed' if one['as_claimed'] else 'not as claimed'}"
            f" under {one['hold_to']}",
        )
        for name, one in outputs.items()
    ]
    return Text("\n").join(lines)


def _lines(sentences: Iterable[str]) -> Text | None:
    lines = list(dict.fromkeys(filter(None, sentences)))
    return Text("\n".join(lines)) if lines else None


def _findings(findings: list[Mapping[str, Any]]) -> Text:
    """Return a line for each finding, in the order of `Status`, and one for all follow-ups."""
    own = [one for one in findings if "caused_by" not in one]
    width = max(len(one["checker"]) for one in own)
    lines = []
    for one in sorted(own, key=lambda one: report_order(one["status"])):
        lines.append(_marked(one["status"], f"{one['checker']:{width}}  {one['reason']}"))
        follow = [each["checker"] for each in findings if each.get("caused_by") == one["checker"]]
        if follow:
            more = f"{len(follow)} more are UNKNOWN because of it: {', '.join(follow)}"
            lines.append(_marked(Status.UNKNOWN, more))
    return Text("\n").join(lines)


def _marked(status: str, line: str) -> Text:
    mark, style = _MARKS[Status(status)]
    return Text.assemble((mark, style), (f"  {line}", style if style == "dim" else ""))


def _differences(document: Mapping[str, Any]) -> Text:
    found = {name: count for name, count in document["differences"].items() if count}
    parts = [f"{count:,} {name}" for name, count in found.items()]
    if not set(ROW_CLASSES) & set(document["counted"]):
        parts.append("not compared" if not parts else "rows not compared")
    return Text(f"differences: {', '.join(parts) or 'none'}")
