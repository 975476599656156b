"""The verdict as coloured text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_STYLE = {"PASS": "bold green", "UNKNOWN": "bold yellow", "FAIL": "bold red"}
_ORDER = list(_STYLE)
_MARK = {"PASS": "✓", "UNKNOWN": "?", "FAIL": "✗"}


def print_verdict(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the verdict first, then its reasons, findings, faults and how to replay."""
    document = printable(document)
    shown = [
        _headline(document),
        _lines(set(document["reasons"]) - {f["reason"] for f in document["findings"]}),
        _table([(f["verdict"], f["checker"], f["reason"]) for f in document["findings"]]),
        _differences(document),
        _lines(one["sentence"] for one in document["blame"]),
        Text(f"replay  {document['replay']}\nreport  {document['run']}/report.html"),
    ]
    told = [part for part in shown if part is not None]
    console = console or Console(highlight=False)
    console.print(Group(*(Padding(part, (0, 0, 1, 0)) for part in told[:-1]), told[-1]))


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


def _table(findings: list[tuple[str, str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for grade, name, reason in sorted(findings, key=lambda found: -_ORDER.index(found[0])):
        table.add_row(Text(_MARK[grade], _STYLE[grade]), Text(name), Text(reason))
    return table


def _differences(document: Mapping[str, Any]) -> Text:
    found = {name: count for name, count in document["differences"].items() if count}
    said = ", ".join(f"{count:,} {name}" for name, count in found.items())
    return Text(f"differences: {said or 'none'}")
