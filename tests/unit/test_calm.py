"""A calm run as the expectation: planned without faults, and refused where rows came late."""

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import EvidenceError
from onceproof.phases.calm import calm_plan, refuse_late
from onceproof.run import RunDirectory

START = 1_700_000_000_000


def live(run, watermarks, times):
    """A run in which each batch has read one record of one partition."""
    offsets = run.checkpoint_log / "offsets"
    offsets.mkdir(parents=True)
    for batch, watermark in enumerate(watermarks):
        head = f'{{"batchWatermarkMs":{watermark},"batchTimestampMs":1,"conf":{{}}}}'
        (offsets / str(batch)).write_text(f'v1\n{head}\n{{"t":{{"0":{batch + 1}}}}}')
    run.ledger.mkdir()
    rows = [
        {"kind": "event", "topic": "t", "partition": 0, "offset": nth, "event_ms": at}
        for nth, at in enumerate(times)
    ]
    kinds = {"kind": pa.string(), "topic": pa.string()}
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in rows[0]])
    parquet.write_table(pa.Table.from_pylist(rows, schema), run.ledger / "part.parquet")


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def both(run, watermarks, times):
    for one in (run, run.calm):
        live(one, watermarks, times)


def test_a_job_without_a_watermark_needs_no_event_time(run):
    both(run, [0, 0], [None, None])
    refuse_late(run)


def test_rows_on_time_are_no_reason_to_refuse(run):
    both(run, [0, START], [START + 1, START - 5])  # late is what lies behind the batch before
    refuse_late(run)


def test_rows_that_came_late_make_it_the_wrong_test(run):
    live(run.calm, [0, 0], [START, START])
    live(run, [0, START, START], [START, START, START])
    with pytest.raises(EvidenceError, match=r"1 rows came late in this run: .* the wrong test"):
        refuse_late(run)


def test_a_watermark_without_an_event_time_is_refused(run):
    both(run, [0, START], [None, None])
    with pytest.raises(EvidenceError, match="nobody says which field holds the event time"):
        refuse_late(run)


def test_its_plan_has_no_fault_and_names_of_its_own():
    plan = {
        "run": "orders_1",
        "faults": [{"name": "kill"}],
        "workload": {"topic": "orders_1.events"},
        "sink": {"target": "orders_1.output"},
    }
    assert calm_plan(plan) == {
        "run": "orders_1_c",
        "faults": [],
        "ends": "over",
        "workload": {"topic": "orders_1_c.events"},
        "sink": {"target": "orders_1_c.output"},
    }
    theirs = {**plan, "sink": {"target": "public.orders"}}
    assert calm_plan(theirs)["sink"]["target"] == "public.orders"
