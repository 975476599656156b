"""Cells of the table, from visits that are written by hand."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from onceproof.cli import carry_out as command_line
from onceproof.scenario.catalogue import read_text
from onceproof.table import measure
from onceproof.table.cells import SINK_OF_FAMILY, cells
from onceproof.table.measure import document, exit_code
from onceproof.table.visit import KAFKA, TAKEN_ONCE, Step, Visit, expected, points, scenario
from tests.prove.table import text

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/schemas/table.json").read_text())
SINKS = list(SINK_OF_FAMILY.values())


def visited(sink, source, unknown=(), left_out=(), **anomalies):
    classes = dict.fromkeys(["lost", "duplicated", "changed", "torn"], 0) | anomalies
    findings = [{"checker": "any", "verdict": "UNKNOWN", "reason": one} for one in unknown]
    document = {
        "differences": classes,
        "findings": findings,
        "run": "runs/a",
        "replay": "onceproof",
    }
    steps = [Step(one, "driver", one not in left_out, {"lost": 0}) for one in points(sink)]
    return Visit(sink, source, tuple(steps), document)


def whole(**changed):
    """All eight visits with the expected result, except for those given."""
    found = []
    for source in (TAKEN_ONCE, KAFKA):
        for sink in SINKS:
            anomalies = dict.fromkeys(expected(sink, source), 7)
            usual = visited(sink, source, torn=3, **anomalies)
            found.append(changed.get(f"{sink}_{source}", usual))
    return found


def by_pair(visits):
    found = {(one["sink"], one["source"]): one for one in document_of(visits)["cells"]}
    assert len(found) == 8
    return found


def document_of(visits):
    found = document(cells(visits), is_quick=False, seconds=1.0)
    Draft202012Validator(SCHEMA).validate({"schema": 1, **found})
    return found


def test_the_table_is_as_claimed_except_for_the_log_that_repeats():
    found = by_pair(whole())
    measured = {sink: [found[sink, of]["measured"] for of in SOURCE_NAMES] for sink in SINKS}
    assert measured == {
        "append_table": ["at-most-once", "at-least-once"],
        "upsert_table": ["at-most-once", "exactly-once"],
        "wal_table": ["none", "at-least-once"],
        "two_phase_table": ["at-most-once", "exactly-once"],
    }
    assert found["wal_table", "not replayable"]["claimed"] == "at-most-once"
    assert "repeats the effect" in found["wal_table", "not replayable"]["reason"]
    assert [one["reason"] for one in found.values() if one["sink"] != "wal_table"] == [""] * 6
    assert all(one["complete"] for one in found.values())
    assert exit_code(cells(whole())) == 0


SOURCE_NAMES = ("not replayable", "replayable")


def test_a_guarantee_is_witnessed_by_other_cells_under_the_same_crashes():
    found = by_pair(whole())["two_phase_table", "replayable"]
    assert found["witnessed"] == {
        "lost": "two_phase_table, not replayable: 7 rows",
        "duplicated": "append_table, replayable: 7 rows",
    }
    own = by_pair(whole())["wal_table", "replayable"]["witnessed"]
    assert own["duplicated"] == "wal_table, replayable: 7 rows"


def test_a_cell_names_the_points_that_were_not_visited():
    visits = whole(upsert_table_kafka=visited("upsert_table", KAFKA, left_out=["task_mid"]))
    found = by_pair(visits)["upsert_table", "replayable"]
    assert (found["complete"], found["reason"]) == (False, "no process crashed at task_mid")
    assert found["measured"] == "exactly-once"


def test_without_a_witness_no_cell_is_complete():
    calm = [visited(sink, source) for source in (TAKEN_ONCE, KAFKA) for sink in SINKS]
    found = by_pair(calm)
    assert not any(one["complete"] for one in found.values())
    assert "no row was lost or duplicated anywhere" in found["upsert_table", "replayable"]["reason"]
    assert exit_code(cells(calm)) == 1


def test_an_unknown_run_is_no_measurement():
    visits = whole(wal_table_kafka=visited("wal_table", KAFKA, ["A fault left no proof"]))
    found = by_pair(visits)["wal_table", "replayable"]
    assert (found["measured"], found["reason"]) == (None, "A fault left no proof")
    assert exit_code(cells(visits)) == 2


@pytest.mark.parametrize("anomaly", ["changed", "lost"])
def test_an_unexpected_anomaly_is_reported(anomaly):
    visits = whole(two_phase_table_kafka=visited("two_phase_table", KAFKA, **{anomaly: 2}))
    found = by_pair(visits)["two_phase_table", "replayable"]
    assert found["measured"] == {"changed": "none", "lost": "at-most-once"}[anomaly]
    assert found["reason"] == f"2 rows {anomaly}"
    assert exit_code(cells(visits)) == 1


@pytest.mark.parametrize("source", [KAFKA, TAKEN_ONCE])
@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("one_process", [False, True])
def test_each_visit_is_a_scenario_that_can_be_run(sink, source, one_process):
    fields = scenario(sink, source, points(sink), one_process=one_process)
    (found,) = read_text(json.dumps(fields), "visit.yaml")
    assert [fault.when["failpoint"] for fault in found.faults] == list(points(sink))
    assert found.claim.anomalies == set(expected(sink, source))


@pytest.fixture
def measured(monkeypatch):
    """Give the command a table without measuring it."""
    asked = []

    def give(visits):
        def found(runs, *, is_quick, say):
            asked.append(is_quick)
            return cells(visits)

        monkeypatch.setattr(measure, "measure", found)
        return asked

    return give


def test_the_command_prints_the_document_and_exits_by_it(measured, capsys, tmp_path):
    asked = measured(whole(upsert_table_kafka=visited("upsert_table", KAFKA, lost=1)))
    words = ["table", "--quick", "--json", "--runs", str(tmp_path)]
    assert (command_line(words), asked) == (1, [True])
    Draft202012Validator(SCHEMA).validate(json.loads(capsys.readouterr().out))


def test_people_read_cells_and_reasons(measured, capsys, tmp_path):
    measured(whole())
    assert command_line(["table", "--runs", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "two_phase_table" in out
    assert "11 of 11" in out
    assert "wal_table, not replayable: 7 rows lost and 7 rows duplicated: input that" in out


def test_the_results_say_where_a_cell_is_not_fully_measured():
    visits = whole(upsert_table_kafka=visited("upsert_table", KAFKA, left_out=["task_mid"]))
    page = text(document_of(visits))
    assert (
        "| replayable | idempotent | upsert_table | exactly-once | exactly-once | 7 of 8 | no |"
        in page
    )
    assert "- `upsert_table`, replayable: no process crashed at task_mid." in page
