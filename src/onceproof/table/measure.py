"""The measurement of the whole table on a stack of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from onceproof.machine.home import onceproof_home
from onceproof.stacks.local.stack import LocalStack
from onceproof.table.cells import SINK_OF_FAMILY, SOURCES, Cell, cells
from onceproof.table.visit import Visit, points, visit

EXIT_AS_EXPECTED, EXIT_OTHERWISE, EXIT_UNKNOWN = 0, 1, 2


def measure(runs: Path, *, is_quick: bool, say: Callable[[str], None]) -> list[Cell]:
    """Visit the crash points of all eight pairs, and return their cells.

    A quick measurement runs Spark in one process, has one kind of crash, and omits the steps of
    tasks, at which an executor crashes.
    """
    found: list[Visit] = []
    with LocalStack.up(onceproof_home() / "table") as stack:
        for source, kind in SOURCES.items():
            for sink in SINK_OF_FAMILY.values():
                say(f"{sink} with a {kind} source")
                steps = points(sink, with_tasks=not is_quick)
                one = visit(sink, source, steps, stack, runs, one_process=is_quick)
                found.append(one)
                say("\n".join(f"  {step.point}: {step.outcome}" for step in one.steps))
    return cells(found)


def document(table: list[Cell], *, is_quick: bool, seconds: float) -> dict[str, Any]:
    """Return the table for --json."""
    documents = [one.document() for one in table]
    return {"quick": is_quick, "seconds": round(seconds, 1), "cells": documents}


def exit_code(table: list[Cell]) -> int:
    """Return 0 if every cell is as expected, 1 if one is not, 2 if one was not measured."""
    if any(one.measured is None for one in table):
        return EXIT_UNKNOWN
    return EXIT_AS_EXPECTED if all(one.is_expected for one in table) else EXIT_OTHERWISE
