"""The verdict as one page of HTML: no script, no network, readable on a phone and on paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from onceproof.judging.report.plot import SERIES, plot
from onceproof.runs.evidence import ROW_CLASSES
from onceproof.verdict import Status

_HERE = Path(__file__).parent
NOTHING = "\N{EN DASH}"
WIDE, NARROW = (800, 320), (352, 280)


def to_html(document: Mapping[str, Any]) -> str:
    """Return the page; every text of the document is escaped."""
    drawings = {
        name: plot(document["timeline"], *size)
        for name, size in {"wide": WIDE, "narrow": NARROW}.items()
    }
    page: str = _page().render(
        document=document,
        drawings=drawings,
        series=SERIES,
        row_classes=ROW_CLASSES,
        statuses=list(Status),
    )
    return page


@cache
def _page() -> Any:
    return templates().get_template("page.html.j2")


def templates(*folders: Path) -> Any:
    """Return the templates of the folders, with the parts and the style shared by all pages.

    Every value is escaped, and an undefined name is an error.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    pages = Environment(
        loader=FileSystemLoader([*folders, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"readable": _readable, "count": _count, "clock": _clock, "minute": _minute}
    pages.filters |= {"effect": _effect, "breakable": _breakable}
    sheets = (sheet for folder in (_HERE, *folders) for sheet in folder.glob("*.css"))
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    pages.globals["style"] = Markup(style)  # noqa: S704
    return pages


def _readable(value: Any) -> str:
    """Return text as it is, an empty value as a dash, rows one a line, and the rest as JSON."""
    if value is None or value in ({}, [], ""):
        return NOTHING
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return "\n".join(map(_readable, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_readable(each)}" for name, each in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _breakable(value: str) -> str:
    """Return a text with a line break allowed after each __ of a scenario's name."""
    from markupsafe import Markup, escape

    return escape(value).replace("__", Markup("__<wbr>"))


def _effect(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return NOTHING
    numbers = [
        f"{name} {_readable(one)}" for name, one in value.items() if name != "degree" and one
    ]
    more = f" ({', '.join(numbers)})" if numbers else ""
    return f"{value['degree']}{more}"


def _count(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def _minute(value: datetime) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _clock(value: str | None) -> str:
    """Return the time of day, in UTC, of an ISO 8601 time; the run's directory has the date."""
    return NOTHING if value is None else value.partition("T")[2].removesuffix("+00:00")
