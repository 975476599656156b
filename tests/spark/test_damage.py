"""Damage to a checkpoint that Spark ignores silently, and damage that it refuses."""

from collections import Counter

import pytest

from onceproof.machine.home import onceproof_home
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.prove.damage import DONE, Bench, made_rows, make_ready

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    """Damage a sound checkpoint and resume from it; return the outcome and the right result."""
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as spark:
        make_ready(spark)
        bench, rows = Bench(spark, folder / "bench", {}), made_rows()
        before = bench.begin(rows)
        yield lambda kind: (
            bench.visit(kind, before),
            dict(Counter(row["key"] for row in rows)),
        )


def test_an_unaligned_checkpoint_counts_twice_silently_and_is_detected(visit):
    found, truth = visit("unaligned")
    assert found["failed"] == ""
    assert found["batches"][0] == DONE
    wrong = {app for app in truth if found["views"][app] != truth[app]}
    assert wrong
    assert all(found["views"][app] > truth[app] for app in wrong)
    assert found["check"][0].startswith("offsets/5 ")


def test_a_batch_with_a_lost_commit_is_run_again_but_not_two(visit):
    one, truth = visit("commit_lost")
    two, _ = visit("commits_lost")
    assert one["batches"][0] == two["batches"][0] == DONE - 1
    assert one["views"] == two["views"] == truth
    assert one["check"]
    assert two["check"]


def test_lost_metadata_is_refused(visit):
    found, _ = visit("metadata_lost")
    assert "MISSING_METADATA" in found["failed"]
    assert found["batches"] == []
