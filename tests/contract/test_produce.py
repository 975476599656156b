"""The sent records compared with those on the brokers, while faults strike the brokers."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from onceproof.errors import EvidenceError, StackError
from onceproof.kafka.topics import look, make_topic, read_back
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.phases.produce import produce
from onceproof.producing.rows import write_rows
from onceproof.producing.settling import settle
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.plan import Plan
from onceproof.workloads.awkward import NAMES
from tests.plans import plan_document

pytestmark = pytest.mark.stack
CLIENTS = pytest.mark.parametrize("client", ["kafka-python", "confluent"])
# Sends slowly, and is killed before the end.
SENDS = """
import json, sys
from pathlib import Path
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.phases.produce import produce
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
work = Plan.of(json.loads(sys.argv[2]))
brokers = Brokers(tuple(sys.argv[3].split(",")), PLAIN)
produce(RunDirectory(Path(sys.argv[1])), work, brokers, is_over=lambda: False)
"""


MESSAGES = {"ended": "the job ended before the workload was committed"}


def plan(topic, **options):
    options = {"events": 5000, "rate": 0, **options}
    return plan_document(
        scenario="produced",
        run=topic.replace("-", "_"),
        input={"topic": topic, "options": options},
        limits={"run_s": 120, "stall_s": 60},
    )


def send(stack, folder, topic, *, is_over=lambda: False, position=None, **options):
    """Produce into a topic whose records count as committed at once; return the run."""
    make_topic(stack.brokers, topic)
    run = RunDirectory(folder)
    work = Plan.of(plan(topic, **options))
    commit = position or (lambda: ends(stack, topic))
    produce(run, work, stack.brokers, is_over=is_over, position=commit)
    return run


def ends(stack, topic):
    found = look(stack.brokers, [topic])[topic]["partitions"]
    return {(topic, int(number)): bounds["end"] for number, bounds in found.items()}


def ledger(run):
    files = sorted(run.ledger.glob("part-*.parquet"))
    return pa.concat_tables([parquet.read_table(path) for path in files]).to_pandas()


def text_of(cell):
    return None if cell is None else cell.decode()


def differences(stack, rows, topic):
    """Return the records that differ between the ledger and the topic."""
    nulls = rows.awkward == "null_key"
    keys = [None if is_null else key for key, is_null in zip(rows.key, nulls, strict=True)]
    places = zip(rows.partition, rows.offset, keys, rows.payload, strict=True)
    found = {
        (one.partition, one.offset, text_of(one.key), text_of(one.value))
        for one in read_back(stack.brokers, topic)
    }
    return found.symmetric_difference(places)


@CLIENTS
def test_the_ledger_is_the_topic(stack, tmp_path, client):
    topic = f"sent-{client}"
    run = send(stack, tmp_path, topic, client=client, producers=2, redelivered=0.1, late=0.1)
    assert differences(stack, ledger(run), topic) == set()
    kinds = ledger(run).kind.value_counts().to_dict()
    assert kinds == {"event": 5000, "redelivery": 500, "sentinel": 1}
    sent = json.loads(run.sent.read_text())[topic]
    assert {(topic, int(number)): end for number, end in sent.items()} == ends(stack, topic)
    last = History(run.history).read()[-1]
    assert (last.actor, last.proof) == ("produce", {"offered": 5501, "acknowledged": 5501})


@CLIENTS
def test_records_sent_while_a_leader_crashes_are_in_the_ledger_once(stack, tmp_path, rng, client):
    topic = make_topic(stack.brokers, f"led-by-the-dead-{client}")
    options = {"client": client, "producers": 2, "events": 8000, "rate": 2000}
    sending = threading.Thread(target=send, args=(stack, tmp_path, topic), kwargs=options)
    sending.start()
    wait_for(lambda: sum(ends(stack, topic).values()) > 1600, 60, "nothing is sent")
    stack.apply("kill", f"broker:leader={topic}/0", rng)
    sending.join(110)
    run = RunDirectory(tmp_path)
    assert run.sent.exists()
    assert differences(stack, ledger(run), topic) == set()


def test_unknown_outcomes_are_settled_from_the_topic(stack, tmp_path):
    topic = "settled"
    run = send(stack, tmp_path, topic, redelivered=0.5)
    before = ledger(run)
    path, unknown = forgetful(run)
    number = unknown.schema.get_field_index("payload")
    never = unknown.slice(0, 1).set_column(number, "payload", pa.array(['{"id":-1}']))
    write_rows(pa.concat_tables([unknown, never]), path)
    settle(run.ledger, stack.brokers, topic)
    after = ledger(run)
    assert len(after[after.ack == "failed"]) == 1
    assert after[after.ack == "failed"].offset.isna().all()
    settled = after[after.ack == "ok"].reset_index(drop=True)
    assert sorted(settled.offset) == sorted(before.offset)
    assert differences(stack, settled, topic) == set()


def forgetful(run):
    """Return the first file of a ledger, and its rows without a third of the outcomes."""
    (path, *_) = sorted(run.ledger.glob("part-0*"))
    table = parquet.read_table(path)
    forgotten = [number % 3 == 0 for number in range(table.num_rows)]
    offsets = pa.array(table["offset"].to_numpy(), mask=pa.array(forgotten).to_numpy(False))
    acks = pa.array(["unknown" if one else "ok" for one in forgotten])
    unknown = table.drop(["offset", "ack"]).append_column("offset", offsets)
    return path, unknown.append_column("ack", acks)


@CLIENTS
def test_awkward_records_are_in_ledger_and_topic_even_with_unknown_outcomes(
    stack, tmp_path, client
):
    topic = f"awkward-{client}"
    run = send(stack, tmp_path, topic, client=client, awkward=0.3, redelivered=0.3)
    before = ledger(run)
    assert set(before.awkward.dropna()) == {*NAMES} - {"null"}
    assert differences(stack, before, topic) == set()
    path, unknown = forgetful(run)
    write_rows(unknown, path)
    settle(run.ledger, stack.brokers, topic)
    assert sorted(ledger(run).offset) == sorted(before.offset)
    assert differences(stack, ledger(run), topic) == set()


def test_a_foreign_record_is_not_taken_for_a_sent_one(stack, tmp_path):
    topic = make_topic(stack.brokers, "shared")
    stranger = KafkaProducer(bootstrap_servers=stack.brokers.bootstrap)
    stranger.send(topic, b"from elsewhere", partition=0).get(30)
    stranger.close()
    with pytest.raises(EvidenceError, match=r"^shared-0.*another.producer"):
        send(stack, tmp_path, topic, events=100)
    assert not RunDirectory(tmp_path).sent.exists()


def test_no_sentinel_is_sent_before_the_workload_is_committed(stack, tmp_path):
    topic = "behind"
    asked = []

    def behind():
        asked.append(1)
        return ends(stack, topic) | {(topic, 0): 1}

    with pytest.raises(StackError, match=re.escape(MESSAGES["ended"])):
        send(stack, tmp_path, topic, position=behind, is_over=lambda: len(asked) > 3)
    rows = ledger(RunDirectory(tmp_path))
    assert set(rows.kind) == {"event"}
    assert not RunDirectory(tmp_path).sent.exists()


def test_the_records_timestamp_is_not_the_event_time(stack, tmp_path):
    run = send(stack, tmp_path, "stamped", events=10)
    consumer = KafkaConsumer(bootstrap_servers=stack.brokers.bootstrap)
    parts = [TopicPartition("stamped", number) for number in range(4)]
    stamped = consumer.offsets_for_times(dict.fromkeys(parts, ledger(run).event_ms[0] + 10**9))
    consumer.close()
    assert all(found.offset == 0 for found in stamped.values() if found)
    assert any(stamped.values())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_producer_outlives_its_parent(stack, tmp_path, number):
    topic = make_topic(stack.brokers, f"orphaned-{number}")
    text = json.dumps(plan(topic, producers=2, rate=100))
    command = [sys.executable, "-c", SENDS, str(tmp_path), text, stack.brokers.bootstrap]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as parent:
        wait_for(lambda: sum(ends(stack, topic).values()) > 10, 60, "nothing is sent")
        children = [Identity.of(pid) for pid in children_of(parent.pid)]
        assert len(children) == 2
        os.kill(parent.pid, number)
    wait_for(lambda: not any(one.is_alive for one in children), 10, "a producer is still alive")


def children_of(pid):
    return map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
