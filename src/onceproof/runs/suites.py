"""The suites of Great Expectations in a plan, by the rows that they check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The rows that suites of a scenario's own check: all columns of the output, the events that were
# sent. Suites of Onceproof are of the `differences`, and of `observed`.
OUTPUT, INPUT = "output", "input"
# Keys of a suite beside those of its JSON: the scenario's field for it, and why it was not built.
SOURCE, ERROR = "source", "error"


def suites_in(expectations: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the suites of a plan, each with the rows that it checks.

    Onceproof has one suite for its rows, a scenario any number for the output and the input.
    """
    return [
        (on, suite)
        for on, suites in expectations.items()
        for suite in (suites if isinstance(suites, list) else [suites])
    ]
