"""A server that forgets records, and the offsets of a source that reads from it."""

import json
import socketserver
import threading

import pytest

from onceproof.errors import StackError
from onceproof.job.job import source_of
from onceproof.kafka.forgetting import ADDRESS, Records, _Answer, _Server, ask
from onceproof.kafka.security import Security
from onceproof.runs.directory import RunDirectory
from onceproof.runs.prepared import Prepared
from onceproof.spark.taken_once import next_ends
from tests.plans import plan_document


@pytest.fixture
def records():
    found = Records([0, 1])
    for offset in range(4):
        found.put(1, offset, f"value {offset}")
    return found


def test_a_record_is_returned_once(records):
    assert records.take(1, 1, 3) == ["value 1", "value 2"]
    assert records.take(1, 0, 4) == ["value 0", "value 3"]
    assert records.take(1, 0, 4) == []


def test_records_that_have_not_arrived_are_not_taken(records):
    assert records.take(0, 0, 9) == []
    records.put(0, 0, "late")
    assert records.take(0, 0, 9) == ["late"]


def test_records_taken_over_the_network_are_gone_for_all_clients(records):
    with _Server(("127.0.0.1", 0), _Answer) as server:
        server.records = records
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"127.0.0.1:{server.server_address[1]}"
        try:
            assert ask(address) == {"0": 0, "1": 4}
            assert ask(address, partition=1, begin=0, end=2) == ["value 0", "value 1"]
        finally:
            server.shutdown()
            thread.join()
    assert records.take(1, 0, 4) == ["value 2", "value 3"]


def test_an_answer_that_is_cut_off_is_an_error():
    class Silent(socketserver.StreamRequestHandler):
        def handle(self):
            self.rfile.readline()

    with socketserver.TCPServer(("127.0.0.1", 0), Silent) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(StackError, match=r"closed.the.connection"):
            ask(f"127.0.0.1:{server.server_address[1]}")
        thread.join()


def test_a_batch_ends_at_its_share_or_where_the_records_do():
    before = {"0": 0, "1": 10, "2": 5}
    assert next_ends(before, {"0": 100, "1": 12, "2": 5}, 30) == {"0": 10, "1": 12, "2": 5}


def test_a_source_that_has_fallen_behind_its_log_never_goes_back():
    assert next_ends({"0": 7}, {"0": 3}, 10) == {"0": 7}


class Consumer:
    """A consumer of one partition that keeps its settings."""

    made_with = None

    def __init__(self, **settings):
        Consumer.made_with = settings

    def partitions_for_topic(self, topic):
        return {0}

    def assign(self, parts):
        assert parts

    seek_to_beginning = close = lambda *_: None

    def poll(self, within_ms):
        return {}


def test_the_server_of_a_run_connects_with_the_runs_security_settings(tmp_path, monkeypatch):
    monkeypatch.setattr("kafka.KafkaConsumer", Consumer)
    monkeypatch.setenv("THE_PASSWORD", "secret")
    run = RunDirectory(tmp_path)
    plan = plan_document(run="taken_1", job={"options": {"source": "taken_once"}})
    run.plan.write_text(json.dumps(plan))
    security = Security("SASL_SSL", "PLAIN", "${THE_PASSWORD}", "${THE_PASSWORD}")
    Prepared("s", False, "a:1,b:2", "local[2]", "", security.named()).write(run.prepared)
    with source_of(run) as environment:
        assert ask(environment[ADDRESS]) == {"0": 0}
    assert Consumer.made_with | security.for_kafka_python() == Consumer.made_with
    assert Consumer.made_with["bootstrap_servers"] == ["a:1", "b:2"]
