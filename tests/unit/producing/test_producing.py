"""Sending a workload: the ledger's rows of each send, with a fake client."""

import json
import re
import time
from collections import deque

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import EvidenceError, RequestError, StackError
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.machine.polling import wait_for
from onceproof.phases.produce import committed, produce
from onceproof.producing.children import Order, Producers
from onceproof.producing.rows import Sends, partition_of
from onceproof.producing.sending import Sending
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.workloads import find_workload, sentinel
from tests.plans import plan_document

MESSAGES = {
    "early": "delivery_s: kafka-python cannot be used after a time-out; write client: confluent",
    "no end": "the job ended before the last event was sent",
    "incomplete": "ledger/ is incomplete",
    "crashed": "producer 0 exited with 1, so the ledger is incomplete",
    "no start": "the job ended before its query had written its first offsets",
}


class FakeClient:
    """A client that acknowledges all records at the next call, with the given exceptions.

    Its topic grows to eight partitions after `grows_after` records.
    """

    def __init__(self, *, fails=(), nowhere=(), times_out=(), grows_after=10**9):
        self.error, self.sent = "", []
        self._fails, self._nowhere, self._late = set(fails), set(nowhere), set(times_out)
        self._grows_after = grows_after
        self._open, self._given_up = deque(), []

    def partitions(self):
        return 4 if len(self.sent) < self._grows_after else 8

    def given_up(self):
        found, self._given_up = self._given_up, []
        return found

    def send(self, sends, begin, end):
        for place, row in enumerate(sends.rows(begin, end), begin):
            self._open.append((sends, place, len(self.sent)))
            self.sent.append(row)

    def serve(self):
        while self._open:
            sends, place, number = self._open.popleft()
            if number in self._fails:
                self.error = "TimedOut"
                sends.fail()
            elif number in self._late:
                sends.fail()
                self._given_up.append(sends.repeated([place]))
            else:
                sends.acknowledge(place, None if number in self._nowhere else number)


SILENT = Brokers(("127.0.0.1:1",), PLAIN)


def views(count, **given):
    workload = find_workload("page_views")
    options = workload.resolve({"events": count, "client": "kafka-python", **given})
    return pa.concat_tables(workload.events(options, 7, 0))


def sends(count, **given):
    return Sends(views(count, **given), "a_run", "a_run.events", 4)


def ledger(folder):
    files = sorted(folder.glob("part-*.parquet"))
    return pa.concat_tables([parquet.read_table(path) for path in files]).to_pandas()


def test_a_payload_is_the_event_as_json(tmp_path):
    client = FakeClient()
    Sending(client, tmp_path / "part", 5, lambda *_: None).run([sends(50)])
    rows = ledger(tmp_path)
    for row in rows.to_dict("records"):
        event = {name: row[name] for name in ("id", "producer", "key", "seq", "event_ms", "amount")}
        assert row["payload"] == json.dumps({**event, "run": "a_run"}, separators=(",", ":"))
    assert [value.decode() for _, _, value, _ in client.sent] == list(rows.payload)
    assert [key.decode() for _, key, _, _ in client.sent] == list(rows.key)


def test_a_key_of_any_text_makes_good_json(tmp_path):
    odd = 'a "key", \\ and ü\n'
    events = sentinel({"events": 1}, 0).set_column(2, "key", pa.array([odd]))
    client = FakeClient()
    Sending(client, tmp_path / "part", 5, lambda *_: None).run([Sends(events, "a_run", "t", 4)])
    assert json.loads(client.sent[0][2])["key"] == odd


def test_the_partition_depends_on_the_key_alone():
    assert [partition_of(f"app-00{number}", 4) for number in range(6)] == [1, 3, 1, 3, 0, 2]


def test_the_ledger_has_its_columns(tmp_path):
    Sending(FakeClient(), tmp_path / "part", 5, lambda *_: None).run([sends(1)])
    schema = parquet.read_schema(tmp_path / "part-00000.parquet")
    whole = dict.fromkeys(("id", "seq", "event_ms", "amount", "offset"), pa.int64())
    short = dict.fromkeys(("producer", "partition"), pa.int32())
    text = dict.fromkeys(("key", "kind", "awkward", "payload", "topic", "ack"), pa.string())
    assert {column.name: column.type for column in schema} == whole | short | text


def test_a_send_is_a_row_with_its_offset(tmp_path):
    totals = []
    sending = Sending(FakeClient(), tmp_path / "part", 5, lambda *now: totals.append(now))
    assert sending.run([sends(3), sends(2)]) == ""
    rows = ledger(tmp_path)
    assert list(rows.offset) == [0, 1, 2, 3, 4]
    assert set(rows.ack) == {"ok"}
    assert set(rows.topic) == {"a_run.events"}
    assert totals[-1] == (5, 5)


def test_an_acknowledgement_without_an_offset_is_unknown(tmp_path):
    client = FakeClient(nowhere=[1])
    totals = []
    Sending(client, tmp_path / "part", 5, lambda *now: totals.append(now)).run([sends(3)])
    rows = ledger(tmp_path)
    assert list(rows.ack) == ["ok", "unknown", "ok"]
    assert rows.offset.isna().tolist() == [False, True, False]
    assert totals[-1] == (3, 3)


def test_after_an_error_nothing_is_sent_and_the_ledger_has_all_offered_records(tmp_path):
    client = FakeClient(fails=[2])
    sending = Sending(client, tmp_path / "part", 5, lambda *_: None)
    assert sending.run([sends(4), sends(4)]) == "TimedOut"
    assert list(ledger(tmp_path).ack) == ["ok", "ok", "unknown", "ok"]


def test_timed_out_records_are_sent_again_as_redeliveries(tmp_path):
    client = FakeClient(times_out=[1, 3])
    totals = []
    sending = Sending(client, tmp_path / "part", 5, lambda *now: totals.append(now))
    assert sending.run([sends(3)]) == ""
    rows = ledger(tmp_path)
    assert list(rows.ack) == ["ok", "unknown", "ok", "unknown", "ok"]
    assert list(rows.kind[:3]) == ["event"] * 3
    assert set(rows.kind[3:]) == {"redelivery"}
    assert set(rows.payload[3:]) == {rows.payload[1]}
    assert totals[-1] == (5, 3)


def test_an_early_time_out_needs_a_client_that_can_go_on():
    with pytest.raises(RequestError, match=re.escape(MESSAGES["early"])):
        views(10, delivery_s=2)


def test_records_go_to_the_new_partitions_of_a_topic_that_has_grown(tmp_path):
    client = FakeClient(grows_after=2000)
    Sending(client, tmp_path / "part", 5, lambda *_: None).run([sends(4000), sends(1000)])
    rows = ledger(tmp_path)
    keys = [row[1].decode() for row in client.sent]
    wanted = [partition_of(key, 4 if place < 2000 else 8) for place, key in enumerate(keys)]
    assert list(rows.partition) == [row[0] for row in client.sent] == wanted
    assert max(wanted[:2000]) == 3
    assert max(wanted[2000:]) == 7


def test_the_rate_is_kept(tmp_path):
    marks = []
    sending = Sending(FakeClient(), tmp_path / "part", 5, lambda offered, _: marks.append(offered))
    began = time.monotonic()
    sending.run([sends(200)], rate=1000)
    assert 0.15 < time.monotonic() - began < 1.5


# --- the phase, without brokers


def work(**changes):
    options = {"events": 10, "client": "kafka-python"}
    limits = {"run_s": 1, "stall_s": 1}
    return Plan.of(plan_document(**{"input": {"options": options}, "limits": limits} | changes))


def test_a_finished_ledger_is_left_alone(tmp_path):
    run = RunDirectory(tmp_path)
    run.ledger.mkdir()
    run.sent.write_text("{}")
    produce(run, work(), SILENT, is_over=lambda: False)
    assert not run.history.exists()


def test_an_incomplete_ledger_is_rejected_and_nothing_is_sent_again(tmp_path):
    run = RunDirectory(tmp_path)
    for message in ("no end", "incomplete"):
        with pytest.raises((EvidenceError, StackError), match=re.escape(MESSAGES[message])):
            produce(run, work(), SILENT, is_over=lambda: True)
    assert len(list(run.logs.iterdir())) == 1


def test_a_crashed_producer_is_reported_with_its_output(tmp_path):
    brokers, options = Brokers((), PLAIN), {"client": "kafka-python"}
    order = Order("nowhere:AT_ALL", options, 7, "r", "t", 1, brokers, str(tmp_path), 1)
    message = re.escape(MESSAGES["crashed"])
    with (
        Producers(order, 1, tmp_path / "logs") as producers,
        pytest.raises(StackError, match=message),
    ):
        wait_for(producers.are_done, 30, "the producer did not end")


def test_the_jobs_progress_is_the_newest_batch_in_both_logs(tmp_path):
    run = RunDirectory(tmp_path)
    assert committed(run) == {}
    head = '{"batchWatermarkMs":0,"batchTimestampMs":0}'
    for batch in (0, 1, 2):
        path = run.checkpoint_log / "offsets" / str(batch)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'v1\n{head}\n{{"t":{{"0":{batch * 10}}}}}')
    (run.checkpoint_log / "commits").mkdir()
    (run.checkpoint_log / "commits/1").write_text('v1\n{"nextBatchWatermarkMs":0}')
    assert committed(run) == {("t", 0): 10}
    (run.checkpoint_log / "offsets/1").write_text("")
    assert committed(run) == {}


def test_nothing_is_sent_before_a_query_at_the_latest_offsets_has_started(tmp_path):
    run = RunDirectory(tmp_path)
    with pytest.raises(StackError, match=re.escape(MESSAGES["no start"])):
        produce(run, work(query={"starting": "latest"}), SILENT, is_over=lambda: True)
    assert not run.logs.exists()
