"""A mistake in a reference is detected: rows differ, or cannot be compared."""

from dataclasses import replace

import pytest

from onceproof.errors import EvidenceError
from onceproof.machine.home import onceproof_home
from onceproof.phases.compare import compare_run
from onceproof.phases.recompute import recompute_in
from onceproof.references import copy_events
from onceproof.runs.plan import Plan
from onceproof.sinks import Target
from onceproof.sinks.files.folders import visible
from onceproof.sinks.files.reader import read
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.spark.made_input import make, write
from tests.spark.test_calm_streams import job

pytestmark = pytest.mark.spark
RIGHT = copy_events.REFERENCE
WRONG_KEY = replace(RIGHT, key=("key",))
WRONG_TYPE = replace(RIGHT, columns={**RIGHT.columns, "amount": "string"})


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
        session.sparkContext.setLogLevel("OFF")
        yield session


@pytest.fixture
def differences(spark, tmp_path, monkeypatch):
    """Return the differences between a reference and the job's rows, upserted by the key."""

    def found(reference):
        monkeypatch.setattr(copy_events, "REFERENCE", reference)
        made = make(7, cases=2, batches=4)
        one_of_a_key = [{row["key"]: row for row in rows}.values() for rows in made.batches]
        batches = [sorted(rows, key=lambda row: row["offset"]) for rows in one_of_a_key]
        thin = replace(made, batches=batches, behind=[])
        run = write(thin, tmp_path, "copy_events", "upsert")
        work = Plan.read(run.plan)
        monkeypatch.setattr("onceproof.phases.compare.key_of", lambda work: list(reference.key))
        recompute_in(spark, run, work)
        pipeline = job("copy_events")
        sent = spark.read.parquet(str(run.ledger)).where("ack = 'ok'")
        rows = pipeline.stream(sent).dropDuplicates(list(pipeline.KEY))
        written = rows.selectExpr("*", "0L as _batch", "1L as _attempt")
        written.write.parquet(str(tmp_path / "written"))
        target = Target("", "written", reference.columns, reference.key)
        read(target, lambda: visible(tmp_path / "written"), run.observed)
        counts = compare_run(run, work)["differences"]
        return {name: rows for name, rows in counts.items() if rows}

    return found


def test_a_right_reference_finds_no_difference(differences):
    assert differences(RIGHT) == {}


def test_a_wrong_key_makes_rows_differ(differences):
    assert differences(WRONG_KEY)["duplicated"] > 0


def test_a_wrong_type_makes_rows_that_cannot_be_compared(differences):
    with pytest.raises(EvidenceError, match="amount"):
        differences(WRONG_TYPE)
