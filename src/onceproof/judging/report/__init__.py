"""Reports of a run for people and for CI systems, made from its verdict document only.

Rendering computes only the layout: every number and sentence comes from the document.
"""

from __future__ import annotations

import json
from typing import Any

from onceproof.judging.report.html import to_html
from onceproof.judging.report.junit import to_junit
from onceproof.runs.directory import RunDirectory


def write_reports(run: RunDirectory) -> None:
    """Write report.html and junit.xml beside verdict.json; invalid Unicode is shown as ?."""
    document = read_document(run)
    run.report.write_text(to_html(document), encoding="utf-8", errors="replace")
    run.junit.write_text(to_junit(document), encoding="utf-8", errors="replace")


def read_document(run: RunDirectory) -> dict[str, Any]:
    """Return the verdict document that the judge wrote."""
    document: dict[str, Any] = json.loads(run.verdict.read_text(encoding="utf-8"))
    return document
