"""A calm run as the reference: planned without faults, and refused if rows came late."""

import json
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import EvidenceError
from onceproof.phases import calm
from onceproof.phases.calm import refuse_late, run_calm
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.plan import Plan
from onceproof.runs.records import Op
from tests.plans import output_of, plan_document
from tests.spark.made_input import work as work_of

START = 1_700_000_000_000


def live(run, watermarks, times, ways=None):
    """Write a run in which each batch has read one record of one partition."""
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
    if ways:
        rows = [{**row, "awkward": way} for row, way in zip(rows, ways, strict=True)]
    kinds = dict.fromkeys(("kind", "topic", "awkward"), pa.string())
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in rows[0]])
    parquet.write_table(pa.Table.from_pylist(rows, schema), run.ledger / "part.parquet")


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def both(run, watermarks, times, ways=None):
    for one in (run, run.calm):
        live(one, watermarks, times, ways)


def test_a_job_without_a_watermark_needs_no_event_time(run):
    both(run, [0, 0], [None, None])
    refuse_late(run)


def test_rows_on_time_are_no_reason_to_refuse(run):
    both(run, [0, START], [START + 1, START - 5])  # late rows are behind the previous watermark
    refuse_late(run)


def test_late_rows_are_refused(run):
    live(run.calm, [0, 0], [START, START])
    live(run, [0, START, START], [START, START, START])
    with pytest.raises(EvidenceError, match="late"):
        refuse_late(run)


def test_a_watermark_without_an_event_time_is_refused(run):
    both(run, [0, START], [None, None])
    with pytest.raises(EvidenceError, match="event_time"):
        refuse_late(run)


@pytest.mark.parametrize("way", ["tombstone", "unparsable"])
def test_a_record_without_an_event_needs_no_event_time(run, way):
    both(run, [0, START], [START, None], [None, way])
    refuse_late(run)


def test_an_awkward_event_needs_its_event_time(run):
    both(run, [0, START], [START, None], [None, "null_key"])
    with pytest.raises(EvidenceError, match="event_time"):
        refuse_late(run)


@pytest.fixture
def lived(run, monkeypatch):
    """Carry out calm runs without a stack, with given numbers of rows read."""
    calls = []

    class Scripted:
        def open(self):
            return 0, 0

        def read(self, folder):
            folder.mkdir()
            rows = calls.pop(0)
            parquet.write_table(pa.table({"id": list(range(rows))}), folder / "rows.parquet")
            return rows, str(rows)

    plan = work_of("copy_events", "append")
    output_of(plan).update({"reference": "calm", "declared": {"key": ["id"]}})
    run.plan.write_text(json.dumps(plan))
    prepared = SimpleNamespace(brokers=("x:1",), address="y")
    monkeypatch.setattr(calm, "prepare", lambda *_: prepared)
    for name in ("start_agent", "produce", "await_agent", "look_at_input"):
        monkeypatch.setattr(calm, name, lambda *_, **__: None)
    flow = SimpleNamespace(run=run.calm)
    monkeypatch.setattr(calm, "open_sinks", lambda *_: [(flow, Scripted())])
    monkeypatch.setattr(calm, "release", lambda one, own: one.released.touch())
    monkeypatch.setattr("onceproof.phases.observe._BETWEEN_S", 0)

    def live(*reads):
        calls[:] = reads
        run_calm(run, Plan.read(run.plan), run.root)
        return len(calls)

    return live


def test_a_finished_calm_run_is_not_repeated(lived, run):
    assert lived(3, 3) == 0
    assert lived(3, 3) == 2
    ends = [one for one in History(run.calm.history).read() if one.op is Op.PHASE_END]
    assert [(one.actor, one.is_ok) for one in ends] == [
        *(("prepare", True), ("produce", True), ("observe", True))
    ]


def test_a_calm_run_whose_output_changes_is_not_finished(lived, run):
    with pytest.raises(EvidenceError, match="output"):
        lived(1, 2, 3, 4, 5)
    assert run.calm.observed.exists()
    assert run.calm.released.exists()
    with pytest.raises(EvidenceError, match="started"):
        lived(5, 5)


def test_its_plan_has_no_fault_and_names_of_its_own():
    kill = {"name": "kill", "verb": "kill", "target": "driver", "when": {"batch": 1}}
    plan = plan_document(run="orders_1", faults=[kill], ends="failed")
    assert Plan.of(plan).calm() == Plan.of(plan_document(run="orders_1_c"))
    theirs = Plan.of(plan_document(run="orders_1", output={"target": "public.orders"}))
    assert theirs.calm().output.target == "public.orders"
