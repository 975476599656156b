"""Declared references: every sent key is expected, with the batch that read it."""

import re
from itertools import zip_longest

import pytest

from onceproof.checkpoint.coverage import Range
from onceproof.errors import EvidenceError, RequestError
from onceproof.machine.home import onceproof_home
from onceproof.phases.recompute import as_sent
from onceproof.references.declared import find_declared
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools

pytestmark = pytest.mark.spark
LEDGER = (
    "id long, kind string, awkward string, event_ms long, key string, payload binary, topic string,"
    " partition int, offset long"
)
# Batch 3 has read the first two, no batch the third, and the first batch of another query the rest.
READ = [
    Range("t", 0, 0, 2, 3),
    Range("t", 0, 2, 3, 0, query=1, is_read=False),
    Range("t", 0, 3, 9, 0, query=1),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    with spark_session(spark_tools(onceproof_home()), "local[2]", folder) as session:
        session.sparkContext.setLogLevel("OFF")
        yield session


def sent(spark, *values, read=READ, ways=(), **given):
    """Return the input of a reference; a way is what is awkward about a value."""
    rows = [
        (nth, "event", way, None, f"k{nth}", value and bytearray(value.encode()), "t", 0, nth)
        for nth, (value, way) in enumerate(zip_longest(values, ways))
    ]
    return as_sent(spark.createDataFrame(rows, LEDGER), read, **{"from_the_first": True, **given})


def expected(events, reference, **output):
    found = find_declared(reference, output).emitted(events)
    return sorted(tuple(row) for row in found.collect())


def test_each_key_is_expected_once_with_the_first_batch_that_read_it(spark):
    events = sent(spark, '{"id": 1}', '{"id": 2}', '{"id": 3}', '{"id": 1}')
    assert expected(events, "each_once", key=["id"], columns={"id": "bigint"}) == [
        (1, 3, "t", 0, 0, False),
        (2, 3, "t", 0, 1, False),
        (3, 0, "t", 0, 2, True),
    ]


def test_two_spellings_of_one_key_are_expected_once(spark):
    events = sent(spark, '{"id": "1"}', '{"id": "01"}', '{"id": 1}')
    found = expected(events, "each_once", key=["id"], columns={"id": "bigint"})
    assert found == [(1, 3, "t", 0, 0, False)]


def test_a_key_may_be_elsewhere_in_the_record(spark):
    events = sent(spark, '{"o": {"n": 5}}')
    assert expected(events, "each_once", key=["id"], **{"from": {"id": "value.o.n"}})[0][0] == "5"
    assert expected(events, "each_once", key=["id"], **{"from": {"id": "key"}})[0][0] == "k0"


def test_records_without_the_key_are_an_error(spark):
    events = sent(spark, '{"id": 1}', "plain")
    with pytest.raises(EvidenceError, match=r"value\.id"):
        expected(events, "each_once", key=["id"])


def test_awkward_records_without_an_event_are_not_expected(spark):
    values = ('{"id": 1}', None, '{"id": 2', '{"id": 3}')
    events = sent(spark, *values, ways=[None, "tombstone", "unparsable", "null_key"])
    assert [row[0] for row in expected(events, "each_once", key=["id"])] == ["1", "3"]
    events = sent(spark, *values[:2], ways=[None, "null"])
    with pytest.raises(EvidenceError, match=r"value\.id"):
        expected(events, "each_once", key=["id"])


def test_records_before_the_latest_offsets_are_not_expected(spark):
    read = [Range("t", 0, 0, 1, 0, is_read=False), Range("t", 0, 1, 2, 0)]
    values = ('{"id": 1}', '{"id": 2}')
    late = sent(spark, *values, read=read, from_the_first=False)
    assert [row[0] for row in expected(late, "each_once", key=["id"])] == ["2"]
    assert len(expected(sent(spark, *values, read=read), "each_once", key=["id"])) == 2


def test_a_function_computes_the_expected_rows(spark, tmp_path):
    module = tmp_path / "expected.py"
    module.write_text(
        "def doubled(events):\n"
        "    from pyspark.sql import functions as F\n"
        "    return events.select(F.get_json_object('value', '$.id').alias('id'),\n"
        "        (F.get_json_object('value', '$.n') * 2).alias('n'), 'batch')\n"
    )
    events = sent(spark, '{"id": "a", "n": 4}')
    columns = {"n": "double"}
    name = f"{module}:doubled"
    assert expected(events, name, key=["id"], columns=columns) == [("a", 8.0, 3, "t", 0, 0, False)]
    with pytest.raises(EvidenceError, match=r"\bm\b"):
        expected(events, name, key=["id"], columns={"m": "int"})


def test_the_output_of_a_calm_run_is_expected(spark):
    events = sent(spark, '{"id": 1}')
    with pytest.raises(EvidenceError, match="calm"):
        expected(events, "calm", key=["id"])
    calm = spark.createDataFrame([("1", None), ("1", None)], "id string, _batch long")
    left = type(events)(events.frame, None, calm)
    assert expected(left, "calm", key=["id"]) == [("1", 3, "t", 0, 0, False)] * 2


@pytest.mark.parametrize(
    ("reference", "output", "message"),
    [
        ("each_once", {}, "the key of the output for each_once is missing; write key: [order_id]"),
        (
            "each_once",
            {"key": ["id"], "columns": {"n": "int"}},
            "has only the key, but columns has",
        ),
        ("json:codecs", {"key": ["id"]}, "json:codecs is a module; with a key use a function"),
        ("nowhere:f", {"key": ["id"]}, "use each_once, calm, or module:attribute"),
    ],
)
def test_an_invalid_reference_is_refused(reference, output, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        find_declared(reference, output)
