"""The whole table, measured on one warm stack of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from onceproof.machine.home import onceproof_home
from onceproof.stacks.local.stack import LocalStack
from onceproof.table.cells import SOURCES, STAND_FOR, Cell, cells
from onceproof.table.visit import Visit, points, visit

EXIT_AS_FORESEEN, EXIT_OTHERWISE, EXIT_UNKNOWN = 0, 1, 2


def measure(runs: Path, *, is_quick: bool, say: Callable[[str], None]) -> list[Cell]:
    """Visit the crash points of all eight pairs, and return their cells.

    A quick one has one process for a cluster and one kind of death, and leaves out the steps of
    tasks, at which it is an executor that dies.
    """
    found: list[Visit] = []
    with LocalStack.up(onceproof_home() / "table") as stack:
        for source, said in SOURCES.items():
            for sink in STAND_FOR.values():
                say(f"{sink} beside a source that is {said}")
                steps = points(sink, with_tasks=not is_quick)
                one = visit(sink, source, steps, stack, runs, one_process=is_quick)
                found.append(one)
                say("\n".join(f"  {step.point}: {step.outcome}" for step in one.steps))
    return cells(found)


def document(table: list[Cell], *, is_quick: bool, seconds: float) -> dict[str, Any]:
    """Return the table as other programs read it."""
    told = [one.document() for one in table]
    return {"quick": is_quick, "seconds": round(seconds, 1), "cells": told}


def exit_code(table: list[Cell]) -> int:
    """0 if every cell shows what is known of it, 1 if one shows something else, 2 if nothing is."""
    if any(one.measured is None for one in table):
        return EXIT_UNKNOWN
    return EXIT_AS_FORESEEN if all(one.is_foreseen for one in table) else EXIT_OTHERWISE
