"""Each fault of a sink that breaks its promise is found and classified by the comparison."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.comparison import compare
from onceproof.machine.home import onceproof_home
from onceproof.phases import observe as phase
from onceproof.phases.observe import observe
from onceproof.runs.directory import RunDirectory
from onceproof.sinks import Target, find_sink
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.unit.handwritten_checkpoint import write_checkpoint

pytestmark = [pytest.mark.stack, pytest.mark.spark]
COLUMNS = {"app": "string", "views": "bigint"}
ROWS = 400


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
        yield session


@pytest.mark.parametrize(
    ("name", "anomaly"),
    [
        ("drops_rows", "lost"),
        ("holds_back", "lost"),
        ("changes_value", "changed"),
        ("writes_unsent", "unexpected"),
    ],
)
def test_a_broken_promise_is_classified(stack, spark, tmp_path, monkeypatch, name, anomaly):
    monkeypatch.setattr(phase, "_BETWEEN_S", 0)
    address = stack.members["store"].address
    checkpoint = str(write_checkpoint(tmp_path / "checkpoint"))
    target = Target(
        *(address, f"run_{name}.output", COLUMNS, ("app",), "views", 1, {"every": 100}),
        checkpoint=checkpoint,
    )
    sink = find_sink(f"tests.sinks_that_lie:{name}")(target)
    sink.prepare()
    sink.write(spark.range(ROWS).selectExpr("concat('app ', id) as app", "id as views"), 0)
    run = RunDirectory(tmp_path)
    assert observe(run, sink)
    expected = {"app": [f"app {one}" for one in range(ROWS)], "views": list(range(ROWS))}
    parquet.write_table(pa.table(expected), tmp_path / "expected.parquet")
    ignored = ("_batch", "_attempt")
    found = compare(tmp_path / "expected.parquet", run.observed, key=["app"], ignore=ignored)
    assert {one for one, rows in found.counts.items() if rows} == {anomaly}
    assert 0 < Counter(found.counts)[anomaly] < ROWS // 20
    sink.drop()
