"""References compute the emitted, open and dropped rows of the engine, here on made input."""

import json
from collections import Counter

import pytest

from onceproof.checkpoint.coverage import committed_batches
from onceproof.errors import EvidenceError
from onceproof.machine.home import onceproof_home
from onceproof.phases.recompute import as_engine_read, recompute_in
from onceproof.references import find_reference, windows
from onceproof.runs.plan import Plan
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.further import further_but
from tests.spark import row_by_row
from tests.spark.made_input import make, write

pytestmark = pytest.mark.spark
SEEDS = (1, 2)  # the last watermark of 1 is the end of windows
GAP_MS = 750


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
        session.sparkContext.setLogLevel("OFF")
        yield session


@pytest.fixture(scope="module", params=further_but([1], SEEDS))
def made(request):
    return make(request.param)


def recomputed(spark, made, folder, pipeline, writes):
    """Return the output of recompute: expected rows, late rows, and its document."""
    run = write(made, folder / pipeline, pipeline, writes)
    document = recompute_in(spark, run, Plan.read(run.plan))
    assert document == json.loads(run.recomputed.read_text())
    assert not list(folder.rglob("*.part"))
    return rows(spark.read.parquet(str(run.expected))), spark.read.parquet(str(run.late)), document


def rows(frame):
    return Counter(tuple(row) for row in frame.collect())


def events(spark, made, folder):
    run = write(made, folder / "pieces", "copy_events", "append")
    sent = spark.read.parquet(str(run.ledger)).where("ack = 'ok'")
    return as_engine_read(sent, committed_batches(run.checkpoint_log))


def test_every_event_is_copied_once_for_each_time_it_was_acknowledged(spark, made, tmp_path):
    wanted = row_by_row.copy_events(made)
    found, late, document = recomputed(spark, made, tmp_path, "copy_events", "append")
    assert found == Counter(wanted)
    assert late.count() == 0
    assert document["covered"] == len(wanted)
    assert document["uncovered"] == len(made.behind)
    assert document["state"] is None


def test_an_upserting_sink_is_expected_to_have_the_newest_copy_of_each(spark, made, tmp_path):
    wanted = row_by_row.newest(row_by_row.copy_events(made), 1)
    found, _, document = recomputed(spark, made, tmp_path, "copy_events", "upsert")
    assert found == Counter(wanted)
    assert document["r0"] == {"rows": len(wanted), "differ": 0}


def test_views_are_emitted_for_each_app_of_each_batch(spark, made, tmp_path):
    found, _, _ = recomputed(spark, made, tmp_path, "app_views", "append")
    assert found == Counter(row_by_row.app_views(made))


def test_the_newest_views_of_an_app_replace_the_older(spark, made, tmp_path):
    found, _, document = recomputed(spark, made, tmp_path, "app_views", "upsert")
    assert found == Counter(row_by_row.newest(row_by_row.app_views(made), 1))
    assert document["delay_ms"] is None


def test_windows_are_emitted_by_the_batch_that_closes_them(spark, made, tmp_path):
    emitted, dropped, _ = row_by_row.sliding_counts(made)
    found, late, document = recomputed(spark, made, tmp_path, "sliding_counts", "append")
    assert found == Counter(emitted)
    found_rows = late.select("id", "partition", "offset", "batch", "bound_ms")
    assert rows(found_rows) == Counter(dropped)
    assert document["late"] == len(dropped) > 100
    assert document["delay_ms"] == 2000


def test_the_plain_batch_query_differs_where_rows_were_dropped(spark, made, tmp_path):
    emitted, dropped, _ = row_by_row.sliding_counts(made)
    _, _, document = recomputed(spark, made, tmp_path, "sliding_counts", "upsert")
    key_of = {row["id"]: row["key"] for batch in made.batches for row in batch}
    wrong = {(key_of[row[0]], row[-1]) for row in dropped}
    assert document["r0"]["differ"] == len(wrong)
    assert document["r0"]["rows"] == len({row[:2] for row in emitted} | wrong)


def test_state_that_cannot_be_read_is_an_error_and_not_equal(spark, made, tmp_path):
    _, _, document = recomputed(spark, made, tmp_path, "sliding_counts", "append")
    assert document["state"].keys() == {"batch", "error"}


def test_state_is_expected_to_have_the_open_windows(spark, made, tmp_path):
    _, _, still_open = row_by_row.sliding_counts(made)
    state = find_reference("onceproof.references.sliding_counts:REFERENCE").state
    assert rows(state(events(spark, made, tmp_path))) == Counter(still_open)


@pytest.mark.parametrize(("size_ms", "slide_ms"), [(3000, None), (5000, 2000)])
def test_windows_of_any_size_and_slide_close_once(spark, made, tmp_path, size_ms, slide_ms):
    emitted, _, _ = row_by_row.sliding_counts(made, size_ms, slide_ms or size_ms)
    given = events(spark, made, tmp_path)
    counts = windows.on_time(windows.windowed(given.frame, size_ms, slide_ms))
    found = windows.closed(counts.groupBy("key", "bound_ms").count(), given.watermarks)
    found_rows = found.select("key", "bound_ms", "count", "_batch")
    assert rows(found_rows) == Counter((*row[:3], row[-1]) for row in emitted)


def test_sessions_merge_close_and_begin_again(spark, made, tmp_path):
    from pyspark.sql import functions as F

    found = windows.sessions(events(spark, made, tmp_path), ["key"], GAP_MS)
    sums = F.count("*").alias("n"), F.sum("amount").alias("amount")
    by_session = found.groupBy("key", "start_ms", "bound_ms", "_batch").agg(*sums)
    found_rows = by_session.select("key", "start_ms", "bound_ms", "n", "amount", "_batch")
    assert rows(found_rows) == Counter(row_by_row.sessions(made, GAP_MS))


def test_duplicates_with_their_time_are_dropped(spark, made, tmp_path):
    found = windows.first_of_each(events(spark, made, tmp_path), ["key"])
    assert rows(found) == Counter(row_by_row.first_of_each(made))


def test_duplicates_within_the_watermark_are_dropped_and_forgotten(spark, made, tmp_path):
    found = windows.first_within(events(spark, made, tmp_path), ["key"], 2000)
    found_rows = found.select("key", "id", "offset", "_batch")
    assert rows(found_rows) == Counter(row_by_row.first_within(made, 2000))


def test_an_event_that_may_have_arrived_is_an_error(spark, made, tmp_path):
    made.batches[-1].append(made.batches[0][0] | {"ack": "unknown", "offset": None})
    try:
        with pytest.raises(EvidenceError, match="unknown"):
            recomputed(spark, made, tmp_path, "copy_events", "append")
    finally:
        made.batches[-1].pop()
