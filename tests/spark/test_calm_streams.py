"""Real streams of the pipelines without a fault: the references return exactly their output."""

import importlib.util
import shutil
from collections import Counter

import pytest

from onceproof.checkpoint.checks import troubles
from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.phases.recompute import recompute_in
from onceproof.references import REFERENCES, find_reference
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.further import further_but
from tests.repo.tree import ROOT
from tests.spark.made_input import make, write

pytestmark = pytest.mark.spark
STATE = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = {"spark.sql.streaming.stateStore.providerClass": f"{STATE}.RocksDBStateStoreProvider"}
CHANGELOG = ROCKSDB | {
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"
}
BY_UUID = CHANGELOG | {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
STORES = {"hdfs": {}, "rocksdb": ROCKSDB, "rocksdb_changelog": CHANGELOG, "by_uuid": BY_UUID}
ROWS_A_BATCH = 240


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
        session.sparkContext.setLogLevel("OFF")
        yield session


def job(name):
    """Load the pipeline's file as the job does."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "spark_jobs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_stream(spark, run: RunDirectory, pipeline, settings, source="ledger") -> Counter:
    """Read the run's whole ledger as the job does, archive the log, and return the output.

    The source is the name of one of `log_source`; values of `records` are parsed as jobs do.
    """
    from tests.spark.log_source import LedgerSource, RecordSource

    emitted: Counter = Counter()

    def collect(frame, batch):
        emitted.update((*row, batch) for row in frame.collect())

    for one in (LedgerSource, RecordSource):
        spark.dataSource.register(one)
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        reader = spark.readStream.format(source).option("path", str(run.ledger))
        rows = reader.option("limit", ROWS_A_BATCH).load()
        frame = job(pipeline).stream(job("stream").parsed(rows) if source == "records" else rows)
        query = frame.writeStream.foreachBatch(collect).outputMode(
            find_reference(REFERENCES[pipeline]).mode
        )
        query = query.option("checkpointLocation", str(run.checkpoint)).start()
        query.processAllAvailable()
        wait_for(lambda: not query.status["isTriggerActive"], 30, "the stream does not rest")
        query.stop()
    finally:
        for name in settings:
            spark.conf.unset(name)
    archive(run)
    return emitted


def archive(run):
    shutil.rmtree(run.checkpoint_log)
    for name in ("offsets", "commits"):
        shutil.copytree(run.checkpoint / name, run.checkpoint_log / name)


CASES = [
    ("copy_events", "hdfs"),
    ("app_views", "rocksdb"),
    ("sliding_counts", "hdfs"),
    ("sliding_counts", "rocksdb_changelog"),
    ("sliding_counts", "by_uuid"),
]


# Checkpoints of format 2 are of RocksDB with changelogs.
IN_CI = [one for one in CASES if one[1] in ("hdfs", "by_uuid")]


@pytest.mark.parametrize(("pipeline", "store"), further_but(IN_CI, CASES))
def test_output_late_rows_and_state_of_a_stream_are_those_recomputed(
    spark, tmp_path, pipeline, store
):
    made = make(3, batches=8)
    run = write(made, tmp_path, pipeline, "append")
    emitted = run_stream(spark, run, pipeline, STORES[store])
    document = recompute_in(spark, run, Plan.read(run.plan))
    expected = Counter(tuple(row) for row in spark.read.parquet(str(run.expected)).collect())
    assert emitted == expected
    assert len(emitted) > 100
    assert document["uncovered"] == 0
    assert (document["late"] > 0) is (pipeline == "sliding_counts")
    assert document["r0"]["differ"] > 0 or pipeline != "sliding_counts"
    assert troubles(run.checkpoint, run.checkpoint_log) == []
    if pipeline == "copy_events":
        assert document["state"] is None
    else:
        state = document["state"]
        assert state["expected"] == state["found"] > 0
        assert (state["differ"], state["samples"]) == (0, [])
