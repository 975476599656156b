"""The verdict as coloured text for a terminal.

No line is broken here: a terminal does that, and a path or a command is still copied whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from onceproof.runs.evidence import ROW_CLASSES

_STYLE = {"PASS": "bold green", "UNKNOWN": "bold yellow", "FAIL": "bold red"}
_ORDER = list(_STYLE)
_MARK = {"PASS": "✓", "UNKNOWN": "?", "FAIL": "✗"}


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
    """Return a line for each finding, the worst first, and one for all that follow from another."""
    own = [one for one in findings if "caused_by" not in one]
    width = max(len(one["checker"]) for one in own)
    lines = []
    for one in sorted(own, key=lambda one: -_ORDER.index(one["verdict"])):
        lines.append(_marked(one["verdict"], f"{one['checker']:{width}}  {one['reason']}"))
        follow = [each["checker"] for each in findings if each.get("caused_by") == one["checker"]]
        if follow:
            said = f"{len(follow)} more are UNKNOWN because of it: {', '.join(follow)}"
            lines.append(_marked("UNKNOWN", said))
    return Text("\n").join(lines)


def _marked(grade: str, said: str) -> Text:
    return Text.assemble((_MARK[grade], _STYLE[grade]), f"  {said}")


def _differences(document: Mapping[str, Any]) -> Text:
    found = {name: count for name, count in document["differences"].items() if count}
    said = [f"{count:,} {name}" for name, count in found.items()]
    if not set(ROW_CLASSES) & set(document["counted"]):
        said.append("not compared" if not said else "rows not compared")
    return Text(f"differences: {', '.join(said) or 'none'}")
