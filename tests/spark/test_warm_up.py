"""The warm-up of the reference's Spark on a sample, which does not change the result."""

import json

import pytest

from onceproof.errors import StackError
from onceproof.machine.home import onceproof_home
from onceproof.phases.all_phases import run_recompute
from onceproof.phases.recompute import recompute_in
from onceproof.phases.warm_up import warm_up
from onceproof.runs.history import History
from onceproof.runs.plan import Plan
from onceproof.runs.records import Op
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.plans import plan_document
from tests.spark.made_input import make, work, write

pytestmark = pytest.mark.spark


@pytest.fixture
def run(tmp_path):
    """A run of made input, whose plan has a workload that can be drawn."""
    found = write(make(1), tmp_path / "run", "copy_events", "append")
    plan = work("copy_events", "append")
    found.plan.write_text(json.dumps(plan | {"limits": {"run_s": 1, "stall_s": 1}} | _inputs(plan)))
    return found


def _inputs(plan):
    (read,) = plan["inputs"]
    (drawn,) = plan_document()["inputs"]
    return {"inputs": [drawn | {"topic": read["topic"], "partitions": read["partitions"]}]}


def files(run):
    return {path: path.read_bytes() for path in run.root.rglob("*") if path.is_file()}


@pytest.fixture
def spark(tmp_path):
    with spark_session(spark_tools(onceproof_home()), "local[2]", tmp_path / "spark") as session:
        session.sparkContext.setLogLevel("OFF")
        yield session


def test_a_trial_changes_neither_the_run_nor_the_result(spark, run, tmp_path, capsys):
    before, plan = files(run), Plan.read(run.plan)
    warm_up(spark, run, plan, tmp_path / "trial")
    assert files(run) == before
    assert not (tmp_path / "trial").exists()
    assert capsys.readouterr().err == ""
    document = recompute_in(spark, run, plan)
    rows = sum(map(len, make(1).batches))
    assert (document["expected"], document["covered"]) == (rows, rows)


def test_a_trial_that_fails_is_printed_and_ignored(spark, run, tmp_path, capsys):
    (run.checkpoint_log / "offsets" / "0").write_text("damaged")
    warm_up(spark, run, Plan.read(run.plan), tmp_path / "trial")
    assert "the warm-up failed: EvidenceError: offsets/0" in capsys.readouterr().err
    assert not (tmp_path / "trial").exists()


def test_nothing_is_recomputed_before_everything_is_sent(run):
    History(run.history).append("produce", Op.PHASE_START)
    History(run.history).append("process", Op.PHASE_END)
    with pytest.raises(StackError, match="produce"):
        run_recompute(run, Plan.read(run.plan))
    assert not run.recomputed.exists()
