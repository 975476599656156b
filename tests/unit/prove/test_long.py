"""Tests that CI leaves out: how cases are marked, and the section of `make prove PART=long`."""

import re

import pytest

from tests.further import further_but
from tests.prove.long import section
from tests.repo.tree import ROOT

PRINTED = """
tests/contract/test_brokers.py::test_a_leader_is_struck[stop] PASSED
============================== slowest durations ===============================
2.52s setup    tests/contract/test_brokers.py::test_a_leader_is_struck[stop]
1.01s call     tests/contract/test_brokers.py::test_a_leader_is_struck[stop]
3.00s call     tests/contract/test_brokers.py::test_a_leader_is_struck[a b-9]
0.50s teardown tests/system/test_runs.py::test_a_control
================ 3 passed, 571 deselected in 7.10s (0:00:07) ==================
"""


def test_the_section_has_each_test_with_its_cases_and_their_seconds():
    assert section(PRINTED.splitlines()).splitlines() == [
        "3 passed, 571 deselected in 7.10s (0:00:07).",
        "",
        "| test | file | cases | s |",
        "|---|---|---|---|",
        "| `test_a_leader_is_struck` | `tests/contract/test_brokers.py` | 2 | 7 |",
        "| `test_a_control` | `tests/system/test_runs.py` | 1 | 0 |",
    ]


def test_all_cases_but_some_are_long():
    kept, further = further_but([("a", 1)], [("a", 1), ("b", 2)])
    assert kept == ("a", 1)
    assert (further.values, [mark.name for mark in further.marks]) == (("b", 2), ["long"])


def test_a_case_that_is_kept_is_one_of_the_cases():
    with pytest.raises(AssertionError, match=r"\['stpo'\].*'stop'"):
        further_but(["stpo"], ["stop", "kill"])


def test_a_long_test_names_what_shows_its_claim_in_ci():
    marked = re.compile(r"^(.*)\n@pytest\.mark\.long$", re.MULTILINE)
    found = {
        path.name: marked.findall(path.read_text())
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.name != "test_long.py"
    }
    assert sum(map(len, found.values())) > 5
    assert [name for name, above in found.items() if any(line[:2] != "# " for line in above)] == []
