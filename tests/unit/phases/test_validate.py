"""Suites run by Great Expectations, and the judge's findings about the results."""

import json
import logging
import shutil
from types import SimpleNamespace

import pandas
import pyarrow
import pyarrow.parquet as parquet
import pytest
from jsonschema import validate

from onceproof.errors import EvidenceError
from onceproof.judging.checkers import run_checkers
from onceproof.judging.checkers.expectations import expectations
from onceproof.machine.home import expectations_folder
from onceproof.phases.validate import _VERBOSE_LOGGER, validate_run, validate_suite
from onceproof.references import REFERENCES, find_reference
from onceproof.verdict import Grade
from tests.repo.tree import ROOT
from tests.unit.handwritten_run import HandwrittenRun, control, expected_of, plan, validation

# Great Expectations and its libraries use deprecated functions.
pytestmark = pytest.mark.filterwarnings("ignore")
PASS, UNKNOWN, FAIL = Grade
SUITES = sorted(expectations_folder().glob("*.json"))
OF_RUNS = {path.stem: json.loads(path.read_text()) for path in SUITES}
OF_A_RUN = {"least_rows": 1, "once": 1.0}
UNIQUE = {
    "type": "expect_column_values_to_be_unique",
    "kwargs": {"column": "n", "mostly": {"$PARAMETER": "once"}},
}
GOOD = {"bigint": 3, "string": "a"}


def suite(*held):
    return {"name": "mine", "expectations": [{"type": type, "kwargs": kw} for type, kw in held]}


def results(suite, table, **parameters):
    found = validate_suite(suite, table, parameters)
    return [(one["success"], one["error"]) for one in found["results"]]


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_a_pipeline_s_suite_fails_on_bad_rows_and_holds_on_good_ones(name):
    reference = find_reference(REFERENCES[name])
    row = {column: GOOD[kind] for column, kind in reference.columns.items()}
    made = OF_RUNS[name]
    good = results(made, pandas.DataFrame([row]), **OF_A_RUN)
    assert set(good) == {(True, "")}
    assert len(good) == len(made["expectations"])
    twice = validate_suite(made, pandas.DataFrame([row, row]), OF_A_RUN)["results"]
    assert [one["anomaly"] for one in twice if not one["success"]] == ["duplicated"]
    for column in row:
        bad = results(made, pandas.DataFrame([row, row | {column: None}]), **OF_A_RUN)
        assert (False, "") in bad, column
    assert (False, "") in results(made, pandas.DataFrame([row][:0]), **OF_A_RUN)


@pytest.mark.parametrize("anomaly", ["lost", "duplicated", "unexpected", "changed"])
def test_each_class_of_differences_fails_its_own_expectation(anomaly):
    counts = dict.fromkeys(["lost", "duplicated", "unexpected", "changed"], 0)
    assert {one for one, _ in results(OF_RUNS["differences"], pandas.DataFrame([counts]))} == {True}
    found = validate_suite(OF_RUNS["differences"], pandas.DataFrame([counts | {anomaly: 7}]), {})[
        "results"
    ]
    (failed,) = (one for one in found if not one["success"])
    assert (failed["anomaly"], failed["samples"], failed["error"]) == (anomaly, [7], "")


def test_great_expectations_logs_nothing_about_its_own_folders(caplog):
    counts = dict.fromkeys(["lost", "duplicated", "unexpected", "changed"], 0)
    validate_suite(OF_RUNS["differences"], pandas.DataFrame([counts]), {})
    # Other tests of this process may have lowered the level of every logger.
    loud = [
        one
        for one in caplog.records
        if one.levelno >= logging.WARNING or one.name == _VERBOSE_LOGGER
    ]
    assert loud == []


def test_an_unknown_expectation_is_no_success():
    made = suite(
        ("expect_column_values_to_be_kind", {"column": "n"}),
        ("expect_column_values_to_not_be_null", {"column": "n"}),
    )
    assert results(made, pandas.DataFrame([{"n": 1}])) == [
        (False, "unknown expectation 'expect_column_values_to_be_kind'"),
        (True, ""),
    ]


def test_a_missing_column_is_an_error_and_no_failure():
    made = suite(("expect_column_values_to_not_be_null", {"column": "m"}))
    ((success, error),) = results(made, pandas.DataFrame([{"n": 1}]))
    assert not success
    assert "m" in error


def test_arguments_that_an_expectation_does_not_take_are_its_error_alone():
    made = suite(
        ("expect_column_values_to_not_be_null", {"colum": "n"}),
        ("expect_column_values_to_not_be_null", {"column": "n"}),
    )
    (bad, good) = results(made, pandas.DataFrame([{"n": 1}]))
    assert bad[0] is False
    assert "colum extra fields not permitted" in bad[1]
    assert good == (True, "")


def test_a_suite_that_cannot_be_run_has_the_error_in_each_expectation(monkeypatch):
    made = suite(("expect_column_values_to_not_be_null", {"column": "n"}))
    monkeypatch.setattr(
        "great_expectations.ValidationDefinition.run", lambda *_, **__: 1 / 0, raising=True
    )
    assert results(made, pandas.DataFrame([{"n": 1}])) == [
        (False, "ZeroDivisionError: division by zero")
    ]


def test_a_number_that_is_not_one_is_in_the_document_as_text():
    made = suite(("expect_column_values_to_be_between", {"column": "n", "max_value": 1}))
    (found,) = validate_suite(made, pandas.DataFrame({"n": [0.5, float("inf")]}), {})["results"]
    assert (found["success"], found["samples"]) == (False, ["Infinity"])


def run_of(tmp_path, plan_suites, **fields):
    run = HandwrittenRun(**fields).write(tmp_path).run
    return run, SimpleNamespace(run="window_totals_7", expectations=plan_suites)


def test_the_phase_writes_a_document_of_its_schema(tmp_path):
    made = suite(("expect_column_values_to_be_between", {"column": "version", "min_value": 0}))
    suites = {"differences": OF_RUNS["differences"], "observed": made}
    run, work = run_of(tmp_path, suites)
    document = validate_run(run, work)
    assert document == json.loads(run.validation.read_text())
    validate(document, json.loads((ROOT / "docs/schemas/validation.json").read_text()))
    assert [(one["on"], one["rows"]) for one in document["suites"]] == [
        ("differences", 1),
        ("observed", 6),
    ]


def test_suites_of_a_user_s_own_are_run_on_the_output_and_on_the_input(tmp_path):
    notes = ("expect_column_values_to_be_in_set", {"column": "note", "value_set": ["x"]})
    sent = ("expect_column_values_to_be_between", {"column": "id", "min_value": 2})
    own = {"output": [suite(notes), suite(notes, sent)], "input": [suite(sent)]}
    run, work = run_of(tmp_path, own)
    write(run.all_columns, note=["x", "x"])
    payloads = [json.dumps({"id": at}).encode() for at in range(4)]
    shutil.rmtree(run.ledger)
    write(run.ledger, key=[None] * 4, payload=payloads, kind=["event"] * 4, ack=["ok"] * 4)
    document = validate_run(run, work)
    validate(document, json.loads((ROOT / "docs/schemas/validation.json").read_text()))
    found = [
        (one["on"], one["rows"], [(held["success"], held["error"][:60]) for held in one["results"]])
        for one in document["suites"]
    ]
    missing = 'Error: The column "id" in BatchData does not exist.'
    assert found == [
        ("output", 2, [(True, "")]),
        ("output", 2, [(True, ""), (False, missing)]),
        ("input", 4, [(False, "")]),
    ]


def write(folder, **columns):
    folder.mkdir()
    parquet.write_table(pyarrow.table(columns), folder / "rows.parquet")


def test_a_key_may_be_there_as_often_as_the_input_has_it_and_no_oftener(tmp_path, monkeypatch):
    monkeypatch.setattr("onceproof.phases.validate.key_of", lambda work: ["n"])
    run, work = run_of(tmp_path, {"observed": {"name": "mine", "expectations": [UNIQUE]}})
    for folder in (run.expected, run.observed):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    def is_held(rows):
        parquet.write_table(pyarrow.table({"n": rows}), run.observed / "rows.parquet")
        return validate_run(run, work)["suites"][0]["results"][0]["success"]

    parquet.write_table(pyarrow.table({"n": [1, 2, 2, 3]}), run.expected / "rows.parquet")
    assert [is_held(rows) for rows in ([2, 1, 2, 3], [1, 2, 2, 3, 3], [1, 2, 2, 2, 3])] == [
        *(True, False, False),
    ]
    parquet.write_table(pyarrow.table({"n": [1, 2, 3]}), run.expected / "rows.parquet")
    assert [is_held(rows) for rows in ([1, 2, 3], [1, 2, 2, 3])] == [True, False]


def test_a_suite_of_an_unknown_table_is_refused(tmp_path):
    run, work = run_of(tmp_path, {"ledger": suite()})
    with pytest.raises(EvidenceError, match="ledger"):
        validate_run(run, work)
    assert not run.validation.exists()


def found(tmp_path, change=lambda held: None, **fields):
    run = HandwrittenRun(**fields)
    run.validation = validation(run.differences, run.observed)
    change(run.validation["suites"])
    (finding,) = run_checkers(run.write(tmp_path), [expectations])
    assert not finding.traceback
    return finding


def test_an_expectation_that_does_not_hold_fails_with_samples(tmp_path):
    def negative(suites):
        suites[1]["results"] = [expected_of("n", None, -3)]

    finding = found(tmp_path, negative)
    assert finding.verdict is FAIL
    message = (
        "In observed, expect_column_values_to_be_between of n (suite totals) does not hold: [-3]"
    )
    assert message in finding.reason


def test_a_failure_that_a_control_does_not_claim_is_no_anomaly(tmp_path):
    def also(suites):
        suites[1]["results"] = [expected_of("n", None, -3)]

    twice = {"lost": 0, "duplicated": 2, "unexpected": 0, "changed": 0}
    wrong = {"differences": twice, "observed": 8, "plan": control("duplicated")}
    finding = found(tmp_path, also, **wrong)
    assert (finding.verdict, dict(finding.anomalies)) == (FAIL, {})


def test_an_expectation_that_could_not_be_run_is_unknown_for_a_control_too(tmp_path):
    def errs(suites):
        suites[1]["results"] = [expected_of("n", None, 0, "no column n")]

    twice = {"lost": 0, "duplicated": 2, "unexpected": 0, "changed": 0}
    finding = found(tmp_path, errs, differences=twice, observed=8, plan=control("duplicated"))
    assert (finding.verdict, finding.anomalies["duplicated"]) == (UNKNOWN, 2)
    assert "could not be evaluated: no column n" in finding.reason


def test_an_anomaly_fails_if_the_promise_forbids_it(tmp_path):
    twice = {"lost": 0, "duplicated": 2, "unexpected": 0, "changed": 0}
    wrong = {"differences": twice, "observed": 8}
    finding = found(tmp_path / "one", **wrong, plan=control("duplicated"))
    assert (finding.verdict, finding.anomalies["duplicated"]) == (FAIL, 2)
    allowed = found(tmp_path / "two", **wrong, plan=plan(hold_to="at-least-once"))
    assert (allowed.verdict, allowed.anomalies["duplicated"]) == (PASS, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda suites: suites.clear(), "No expectation looks for lost rows"),
        (lambda suites: suites[0]["results"].pop(2), "No expectation looks for unexpected rows"),
        (
            lambda suites: suites[1].update(rows=5),
            "evaluated on 5 rows of observed",
        ),
        (
            lambda suites: suites[1].update(results=[expected_of("n", None, 0, "no column n")]),
            "of n (suite totals) could not be evaluated: no column n",
        ),
    ],
)
def test_an_incomplete_result_is_unknown(tmp_path, change, message):
    finding = found(tmp_path, change)
    assert finding.verdict is UNKNOWN
    assert message.lower() in finding.reason.lower()


def with_own(*suites, on="output"):
    """A plan with suites of a user's own, and the differences' as every plan."""
    return plan(expectations={on: list(suites)})


def results_of(*suites, on="output", rows=6):
    return [{"on": on, "suite": name, "rows": rows, "results": held} for name, held in suites]


NOT_NULL = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "n"}}
ORDERS = {"name": "orders", "expectations": [NOT_NULL]}
UNBUILT = {"name": "checks.py:build", "expectations": [], "error": "KeyError: 'amount'"}


def test_an_own_suite_that_fails_is_named_with_its_expectation(tmp_path):
    def fails(suites):
        suites += results_of(("orders", [expected_of("n", None, -3)]))

    finding = found(tmp_path, fails, plan=with_own(ORDERS))
    assert finding.verdict is FAIL
    assert finding.reason == (
        "In output, expect_column_values_to_be_between of n (suite orders) does not hold: [-3]"
    )


@pytest.mark.parametrize("on", ["output", "input"])
def test_own_suites_that_hold_pass_and_must_have_seen_every_row(tmp_path, on):
    def held(rows):
        own = results_of(("orders", [expected_of("n", None)]), on=on, rows=rows)
        return lambda suites: suites.extend(own)

    finding = found(tmp_path / "all", held(6), plan=with_own(ORDERS, on=on))
    assert finding.verdict is PASS
    assert "orders" in finding.reason
    finding = found(tmp_path / "less", held(5), plan=with_own(ORDERS, on=on))
    assert finding.verdict is UNKNOWN
    assert f"evaluated on 5 rows of {on}, but it has 6" in finding.reason


def test_an_own_suite_without_a_result_is_unknown(tmp_path):
    finding = found(tmp_path, plan=with_own(ORDERS))
    assert finding.verdict is UNKNOWN
    assert "0 expectations of output were evaluated, but the plan has 1" in finding.reason


def test_a_suite_that_could_not_be_built_is_unknown_with_its_name_and_reason(tmp_path):
    def also(suites):
        suites += results_of(("orders", [expected_of("n", None)]), ("checks.py:build", []))

    finding = found(tmp_path / "one", also, plan=with_own(ORDERS, UNBUILT))
    assert finding.verdict is UNKNOWN
    message = "he suite checks.py:build could not be built: KeyError: 'amount'"
    assert message in finding.reason

    def fails(suites):
        suites += results_of(("orders", [expected_of("n", None, -3)]), ("checks.py:build", []))

    finding = found(tmp_path / "two", fails, plan=with_own(ORDERS, UNBUILT))
    assert finding.verdict is FAIL
    assert message in finding.reason


def test_a_suite_that_saw_nothing_where_rows_were_lost_is_unknown(tmp_path):
    lost = {"lost": 1, "duplicated": 0, "unexpected": 0, "changed": 0}

    def blind(suites):
        suites[0]["results"][0] = expected_of("lost", "lost")

    finding = found(tmp_path, blind, differences=lost, observed=5)
    assert finding.verdict is UNKNOWN
    assert "found no lost row, but the comparison did" in finding.reason
    assert found(tmp_path / "seen", differences=lost, observed=5).verdict is FAIL
