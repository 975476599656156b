"""The comparison of expected with observed rows: each class, its origin, and the files."""

import json
import sys
from dataclasses import asdict

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.comparison import comparing, engine_process
from onceproof.documents import encoded
from onceproof.errors import EvidenceError
from onceproof.phases import compare
from onceproof.phases.compare import compare_run
from onceproof.references import Reference
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence
from onceproof.runs.plan import Plan, Writes
from onceproof.sinks import find_sink
from tests.plans import plan_document
from tests.unit.comparison.sides import in_this_process

COPIES = Reference({"id": "bigint", "amount": "bigint"}, ("id",), None, lambda events: None)
VIEWS = Reference({"app": "string", "views": "bigint"}, ("app",), "views", lambda events: None)


def work(name, sink):
    writes = find_sink(sink).writes
    output = {
        "sink": sink,
        "writes": writes,
        "reference": f"tests.unit.phases.test_compare:{name}",
        "rows": encoded(asdict(globals()[name].in_plan(writes))),
    }
    return Plan.of(plan_document(run="views_1", output=output))


APPEND = work("COPIES", "append_table")
UPSERT = work("VIEWS", "upsert_table")


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    """Compare in this process, which is faster; a crash of the separate one has a test below."""
    in_this_process(monkeypatch)


@pytest.fixture
def run(tmp_path):
    """A run whose expected and observed rows are those that a test writes."""
    return RunDirectory(tmp_path)


def keep(folder, rows, columns):
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {"app": pa.string(), "topic": pa.string()}
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in columns])
    cells = [dict(zip(columns, row, strict=True)) for row in rows]
    parquet.write_table(pa.Table.from_pylist(cells, schema), folder / "part.parquet")


def copies(run, expected, observed):
    keep(run.expected, expected, ["id", "amount", "_batch"])
    keep(run.observed, observed, ["id", "amount", "_batch", "_attempt"])
    return compare_run(run, APPEND)


def views(run, expected, observed):
    keep(run.expected, expected, ["app", "views", "_batch"])
    keep(run.observed, observed, ["app", "views", "_batch", "_attempt"])
    return compare_run(run, UPSERT)


def ledger(run, *rows):
    keep(run.ledger, rows, ["id", "topic", "partition", "offset"])


def blamed(summary):
    (sample,) = summary["samples"]
    names = ("class", "batch", "attempt", "by", "topic", "partition", "offset")
    return tuple(sample[name] for name in names)


def test_a_missing_row_is_lost_in_the_batch_that_had_to_emit_it(run):
    ledger(run, (1, "events", 0, 10), (2, "events", 0, 11))
    found = copies(run, [(1, 5, 0), (2, 6, 3)], [(1, 5, 0, 1)])
    assert found["differences"] == {"lost": 1, "duplicated": 0, "unexpected": 0, "changed": 0}
    assert blamed(found) == ("lost", 3, None, None, "events", 0, 11)


def test_a_second_copy_by_a_later_attempt_is_duplicated_by_the_sink(run):
    found = copies(run, [(1, 5, 0), (2, 6, 3)], [(1, 5, 0, 1), (2, 6, 3, 2), (2, 6, 3, 1)])
    assert found["differences"]["duplicated"] == 1
    assert blamed(found) == ("duplicated", 3, 2, "sink", None, None, None)


def test_a_second_copy_by_the_same_attempt_is_duplicated_by_the_sink_too(run):
    found = copies(run, [(1, 5, 0)], [(1, 5, 0, 1), (1, 5, 0, 1)])
    assert blamed(found)[:4] == ("duplicated", 0, 1, "sink")


def test_a_second_copy_of_another_batch_is_not_by_the_sink(run):
    found = copies(run, [(1, 5, 0)], [(1, 5, 0, 1), (1, 5, 4, 2)])
    assert blamed(found)[:4] == ("duplicated", 4, 2, None)


def test_a_row_expected_twice_is_no_duplicate(run):
    found = copies(run, [(1, 5, 0), (1, 5, 2)], [(1, 5, 0, 1), (1, 5, 2, 1)])
    assert not any(found["differences"].values())
    assert found["samples"] == []


def test_of_two_deliveries_the_lost_one_is_that_of_its_batch(run):
    ledger(run, (1, "events", 0, 10), (1, "events", 0, 30))
    for batch, end in enumerate((20, 25, 40)):
        offsets = run.checkpoint_log / "offsets" / str(batch)
        offsets.parent.mkdir(parents=True, exist_ok=True)
        head = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}'
        offsets.write_text(f'v1\n{head}\n{{"events":{{"0":{end}}}}}')
    found = copies(run, [(1, 5, 0), (1, 5, 2)], [(1, 5, 0, 1)])
    assert blamed(found) == ("lost", 2, None, None, "events", 0, 30)


def test_of_two_deliveries_in_unknown_batches_none_is_guessed(run):
    ledger(run, (1, "events", 0, 10), (1, "events", 0, 30))
    assert blamed(copies(run, [(1, 5, 0)], []))[4:] == (None, None, None)


def test_an_unexpected_key_has_its_attempt(run):
    found = views(run, [("a", 3, 1)], [("a", 3, 1, 1), ("b", 1, 2, 2)])
    assert found["differences"]["unexpected"] == 1
    assert blamed(found)[:4] == ("unexpected", 2, 2, None)


def test_a_value_written_wrongly_is_changed_by_its_attempt(run):
    found = views(run, [("a", 3, 1)], [("a", 4, 1, 2)])
    assert found["differences"]["changed"] == 1
    assert blamed(found)[:4] == ("changed", 1, 2, None)


def test_a_value_that_was_not_written_over_is_changed_by_the_batch_that_had_to(run):
    found = views(run, [("a", 3, 5)], [("a", 2, 1, 1)])
    assert blamed(found)[:4] == ("changed", 5, None, None)


def test_where_rows_are_added_a_version_is_part_of_the_key(run):
    keep(run.expected, [("a", 1, 0), ("a", 2, 1)], ["app", "views", "_batch"])
    keep(run.observed, [("a", 1, 0, 1)], ["app", "views", "_batch", "_attempt"])
    found = compare_run(run, work("VIEWS", "append_table"))
    assert found["differences"]["lost"] == 1
    assert found["samples"][0]["key"] == {"app": "a", "views": 2}


def test_rows_without_a_batch_are_compared_too(run):
    keep(run.expected, [(1, 5, 0), (2, 5, 0)], ["id", "amount", "_batch"])
    keep(run.observed, [(1, 5), (1, 5)], ["id", "amount"])
    found = compare_run(run, APPEND)
    assert found["differences"] == {"lost": 1, "duplicated": 1, "unexpected": 0, "changed": 0}
    assert [one["batch"] for one in found["samples"]] == [0, None]


def test_the_judge_can_read_the_comparison_and_it_can_be_repeated(run):
    run.recomputed.write_text('{"late": 4}')
    found = copies(run, [(1, 5, 0)], [(1, 5, 0, 1), (1, 5, 0, 2)])
    assert json.loads(run.summary.read_text()) == dict(found)
    judged = Evidence(run).differences
    assert (judged.expected, judged.observed, judged.late) == (1, 2, 4)
    rows = parquet.read_table(run.differences / "differences.parquet").to_pylist()
    assert [(row["batch"], row["attempt"], row["by"]) for row in rows] == [(0, 2, "sink")]
    assert compare_run(run, APPEND)["samples"] == found["samples"]
    assert not run.root.joinpath("differences.part").exists()


def test_sides_with_different_columns_are_an_error_and_leave_no_older_result(run):
    copies(run, [(1, 5, 0)], [(1, 5, 0, 1)])
    keep(run.observed, [("a", 3, 1, 1)], ["app", "views", "_batch", "_attempt"])
    with pytest.raises(EvidenceError, match="amount"):
        compare_run(run, APPEND)
    assert not run.differences.exists()


def test_counts_that_do_not_add_up_are_an_error(run, monkeypatch):
    honest = compare.compare

    def miscounts(*sides, **options):
        found = honest(*sides, **options)
        found.result.counts["lost"] += 1
        return found

    monkeypatch.setattr(compare, "compare", miscounts)
    with pytest.raises(EvidenceError, match=r"-1.*\+0"):
        copies(run, [(1, 5, 0)], [(1, 5, 0, 1)])


def test_rows_without_a_batch_get_the_batch_that_read_their_key(run):
    origin = ["_batch", "_topic", "_partition", "_offset", "_unread"]
    rows = [(1, 5, 3, "events", 0, 17, 0), (2, 5, 0, "events", 0, 30, 1)]
    run.expected.mkdir(parents=True)
    kinds = {"_topic": pa.string(), "_unread": pa.bool_()}
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in ["id", "amount", *origin]])
    cells = [dict(zip(schema.names, row, strict=True)) for row in rows]
    rows = [{**one, "_unread": bool(one["_unread"])} for one in cells]
    parquet.write_table(pa.Table.from_pylist(rows, schema), run.expected / "part.parquet")
    keep(run.observed, [(1, 5, None, None)] * 2, ["id", "amount", "_batch", "_attempt"])
    found = compare_run(run, APPEND)
    assert found["differences"] == {"lost": 1, "duplicated": 1, "unexpected": 0, "changed": 0}
    names = ("class", "by", "batch", "attempt", "topic", "partition", "offset")
    assert [tuple(one[name] for name in names) for one in found["samples"]] == [
        ("lost", "unread", 0, None, "events", 0, 30),
        ("duplicated", "input", 3, None, "events", 0, 17),
    ]


def test_a_run_below_a_folder_that_names_a_column_is_compared_by_its_files(tmp_path):
    run = RunDirectory(tmp_path / "amount=5" / "_batch=0" / "run")
    summary = copies(run, [(1, 10, 0)], [(1, 1010, 0, 1)])
    assert summary["differences"]["changed"] == 1


def test_an_engine_that_crashes_is_an_error(run, monkeypatch):
    fault = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    monkeypatch.setattr(comparing, "compare_in_process", engine_process.compare_in_process)
    monkeypatch.setattr(engine_process, "COMMAND", (sys.executable, "-c", fault))
    with pytest.raises(EvidenceError, match="SIGSEGV"):
        copies(run, [(1, 10, 0)], [(1, 10, 0, 1)])
    assert not run.differences.exists()


@pytest.mark.parametrize("side", ["expected", "observed"])
def test_a_damaged_file_of_a_side_is_an_error(run, side):
    copies(run, [(1, 10, 0)], [(1, 10, 0, 1)])
    path = getattr(run, side) / "part.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(EvidenceError, match=f"{side}/part.parquet"):
        compare_run(run, APPEND)


def test_a_file_of_another_kind_in_a_side_is_an_error(run):
    copies(run, [(1, 10, 0)], [(1, 10, 0, 1)])
    (run.observed / "part.PARQUET").write_bytes((run.observed / "part.parquet").read_bytes())
    with pytest.raises(EvidenceError, match=r"observed/part\.PARQUET"):
        compare_run(run, APPEND)


def test_rows_are_matched_by_the_key_of_the_plan_and_not_of_the_sinks_class(monkeypatch):
    monkeypatch.setattr("onceproof.sinks.tables.upsert_table.UpsertTable.writes", Writes.APPEND)
    assert compare.key_of(UPSERT) == ["app"]


def test_a_plan_without_a_key_is_of_an_older_version():
    with pytest.raises(EvidenceError, match="older"):
        compare.key_of(Plan.of(plan_document()))
