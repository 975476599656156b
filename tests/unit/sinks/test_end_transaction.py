"""The one request that uses private attributes of kafka-python; fails if the library changes."""

import asyncio
import inspect

from kafka import KafkaAdminClient
from kafka.errors import InvalidTxnStateError, NoError
from kafka.protocol.metadata import CoordinatorType
from kafka.protocol.producer.transaction import EndTxnRequest, EndTxnResponse

from onceproof.sinks.topics.coordinator import end_transaction

# EndTxn in version 5: id as compact string, producer id, its epoch, committed, no tags.
SENT = b"\x03id" + (7).to_bytes(8, "big") + (0).to_bytes(2, "big") + b"\x01\x00"


class Client:
    """The used part of an admin client; keeps the requests sent."""

    def __init__(self, code):
        self.code, self.sent, self._manager = code, [], self

    def run(self, send):
        return asyncio.run(send())

    async def _find_coordinator_id(self, name, kind):
        assert (name, kind) == ("id", CoordinatorType.TRANSACTION)
        return 3

    async def send(self, request, node_id):
        self.sent.append((request.encode(version=5), node_id))
        return EndTxnResponse[5](0, self.code, -1, -1)


def test_the_request_is_sent_to_the_coordinator_in_kafkas_encoding():
    client = Client(0)
    assert end_transaction(client, "id", 7, 0, commit=True) is NoError
    assert client.sent == [(SENT, 3)]


def test_the_answer_is_the_class_of_an_error():
    assert end_transaction(Client(48), "id", 7, 0, commit=True) is InvalidTxnStateError


def test_the_private_attributes_of_the_library_still_exist():
    assert inspect.iscoroutinefunction(KafkaAdminClient._find_coordinator_id)
    made = inspect.getsource(KafkaAdminClient.__init__)
    assert "self._manager =" in made
    assert EndTxnRequest[5]("id", 7, 0, True).committed is True
