"""Real streams over awkward page views: the references treat them as the pipelines do."""

import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.phases.recompute import recompute_in
from onceproof.producing.rows import Sends
from onceproof.runs.directory import RunDirectory
from onceproof.runs.ledger import UNREADABLE
from onceproof.runs.plan import Plan
from onceproof.workloads import awkward, find_workload
from tests.spark.made_input import TOPIC, work
from tests.spark.test_calm_streams import run_stream, spark  # noqa: F401

pytestmark = pytest.mark.spark
EVENTS, PRODUCERS = 2400, 2
SHARE = 0.1
OPTIONS = {"redelivered": 0.05, "late": 0.1, "span_ms": 30_000, "keys": 5}


def awkward_run(folder, pipeline):
    """Make a run whose ledger has the sends of an awkward workload, all acknowledged."""
    run = RunDirectory(folder)
    for one in (run.ledger, run.checkpoint_log):
        one.mkdir(parents=True)
    run.plan.write_text(json.dumps(work(pipeline, "append")))
    workload = find_workload("page_views")
    options = workload.resolve(
        {"events": EVENTS, "producers": PRODUCERS, "awkward": SHARE, "client": "kafka-python"}
        | OPTIONS
    )
    tables = [pa.concat_tables(workload.events(options, 7, one)) for one in range(PRODUCERS)]
    sends = Sends(pa.concat_tables(tables), "made", TOPIC, 3)
    ends: Counter = Counter()
    for place, (partition, *_) in enumerate(sends.rows(0, len(sends))):
        sends.acknowledge(place, ends[partition])
        ends[partition] += 1
    sends.write(run.ledger / "part-1.parquet")
    return run


@pytest.mark.parametrize("pipeline", ["copy_events", "app_views", "sliding_counts"])
def test_output_of_awkward_input_is_as_recomputed(spark, tmp_path, pipeline):  # noqa: F811
    run = awkward_run(tmp_path, pipeline)
    emitted = run_stream(spark, run, pipeline, {}, "records")
    document = recompute_in(spark, run, Plan.read(run.plan))
    expected = Counter(tuple(row) for row in spark.read.parquet(str(run.expected)).collect())
    assert emitted == expected
    assert document["uncovered"] == 0
    sent = parquet.read_table(run.ledger).to_pandas()
    odd = sent.awkward.value_counts().to_dict()
    assert odd.keys() == {*awkward.NAMES} - {awkward.NULL}
    keys = {row[1 if pipeline == "copy_events" else 0] for row in expected}
    assert {"", awkward.HUGE} < keys
    assert keys & {*awkward.TEXTS}
    if pipeline == "copy_events":
        read = len(sent) - sum(odd[one] for one in UNREADABLE)
        assert expected.total() == read < len(sent)
        assert {row[-2] for row in expected} > {*awkward.NUMBERS}
    else:
        assert document["state"]["expected"] == document["state"]["found"] > 0
        assert document["state"]["differ"] == 0
