"""The judge with one fault each, and for each a test of the judge that must not hold with it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from onceproof.comparison.on_duckdb import steps as duckdb_steps
from onceproof.judging.checkers import ended, phases
from onceproof.phases import judge
from tests.unit.comparison import test_counting, test_values
from tests.unit.handwritten_run import HandwrittenRun
from tests.unit.phases import test_judge_run


@dataclass(frozen=True)
class Planted:
    """A fault of the judge; `case` is what the test that kills it is given beside a folder."""

    fault: str
    plant: Callable
    killed_by: Callable
    case: dict = field(default_factory=dict)

    @property
    def test(self):
        """The test by the name that pytest has for it."""
        module = self.killed_by.__module__.replace(".", "/")
        return f"{module}.py::{self.killed_by.__name__}"

    def run(self, folder):
        """Run the test that kills it, as pytest would."""
        self.killed_by(tmp_path=folder, **self.case)


def compares_sets(monkeypatch):
    rows = duckdb_steps.Side.compared.fget
    monkeypatch.setattr(
        duckdb_steps.Side,
        "compared",
        property(lambda side: rows(side).replace("(select ", "(select distinct ", 1)),
    )


def joins_keys(monkeypatch):
    columns = duckdb_steps.Side._canonical

    def canonical(side):
        of_key = len(side.plan.key)
        parts = [one.rpartition(" as ")[0] for one in columns(side)[:of_key]]
        joined = [f"concat_ws(',', {', '.join(parts)}) as c0"]
        return [*joined, *(f"'' as c{i}" for i in range(1, of_key)), *columns(side)[of_key:]]

    monkeypatch.setattr(duckdb_steps.Side, "_canonical", canonical)


def takes_null_for_a_value(monkeypatch):
    canonical = duckdb_steps.canonical

    def coalesced(column, kind):
        value = canonical(column, kind)
        return f"coalesce({value}, '')" if kind.name == "text" else value

    monkeypatch.setattr(duckdb_steps, "canonical", coalesced)


def counts_distinct_rows(monkeypatch):
    both = duckdb_steps.Keys._both

    def distinct(keys):
        columns = ", ".join(["w", *keys.key, "h1", "h2"])
        return f"(select {columns}, min(f) as f, min(n) as n from {both(keys)} group by all)"

    monkeypatch.setattr(duckdb_steps.Keys, "_both", distinct)


def compares_counts(monkeypatch):
    monkeypatch.setattr(duckdb_steps, "row_hashes", lambda columns: ("0::ubigint", "0::ubigint"))


def goes_by_how_processes_ended(monkeypatch):
    whole = judge.run_checkers
    names = (ended.__name__, phases.__name__)

    def of_processes(evidence):
        return [one for one in whole(evidence) if one.checker in names]

    monkeypatch.setattr(judge, "run_checkers", of_processes)


ROWS = test_counting.test_rows_are_counted_by_class
PLANTED = [
    Planted(
        "it compares sets of rows",
        compares_sets,
        ROWS,
        {"expected": "1a", "observed": "1a 1a 1a", "found": {"duplicated": 2}},
    ),
    Planted(
        "it takes duplicates away before it counts",
        counts_distinct_rows,
        ROWS,
        {"expected": "1a 1a 1b", "observed": "1a 1b 1b", "found": {"changed": 1}},
    ),
    Planted(
        "it compares numbers of rows",
        compares_counts,
        ROWS,
        {"expected": "1a", "observed": "1b", "found": {"changed": 1}},
    ),
    Planted(
        "it joins the columns of a key to one text",
        joins_keys,
        test_counting.test_keys_are_columns_and_never_a_text,
    ),
    Planted(
        "it takes NULL for a value",
        takes_null_for_a_value,
        test_values.test_these_differ,
        {"ours": None, "theirs": "", "kind": test_values.pa.string(), "other": None},
    ),
    Planted(
        "it goes by how processes ended",
        goes_by_how_processes_ended,
        test_judge_run.test_a_control_that_doubles_its_rows_is_as_claimed,
        {"run": HandwrittenRun()},
    ),
]
