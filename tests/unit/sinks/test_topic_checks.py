"""Rejected brokers, warnings about their settings, and names of topics."""

import re

import pytest

from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.topics.checks import Brokers, check_rights, chosen, refuse, warnings
from onceproof.sinks.topics.journal import journal_of, writer_of_topic, writers_of

DAY, HOUR = 86_400_000, 3_600_000
LARGEST = 2_147_483_647


def brokers(version=2, lists=2, most=LARGEST, expires=HOUR):
    names = ("transaction.max.timeout.ms", "transactional.id.expiration.ms")
    return Brokers(version, lists, dict(zip(names, (most, expires), strict=True)))


def target(**options):
    return Target("b:1", "orders", {"id": "bigint"}, ("id",), options=options)


def test_supported_brokers_give_no_warnings():
    refuse(brokers())
    assert warnings(brokers()) == []


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (brokers(lists=1), "cannot list transactions by the prefix of their ids"),
        (brokers(version=1), "transaction.version of these brokers is 1: ending a transaction"),
    ],
)
def test_brokers_that_are_too_old_are_rejected(found, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        refuse(found)


def test_risky_settings_give_warnings_with_numbers():
    assert warnings(brokers(most=DAY)) == []
    (short,) = warnings(brokers(most=900_000))
    assert re.findall("[0-9,]*[0-9]", short) == ["900,000", "2147483647"]
    (many,) = warnings(brokers(expires=7 * DAY))
    assert re.findall("[0-9,]*[0-9]", many) == ["604,800,000", "2,419,200", "3,600,000", "14,400"]


def test_the_time_out_is_the_largest_allowed_or_the_given_one():
    assert chosen(target(), brokers()) == 2_147_483_000
    assert chosen(target(), brokers(most=900_000)) == 900_000
    assert chosen(target(transaction_timeout_ms=60_000), brokers()) == 60_000


@pytest.mark.parametrize("given", ["soon", "999", "900001"])
def test_a_time_out_beyond_the_brokers_limits_is_rejected(given):
    with pytest.raises(RequestError, match=f"^transaction_timeout_ms.{given}.*900000"):
        chosen(target(transaction_timeout_ms=given), brokers(most=900_000))


@pytest.mark.parametrize("rights", [["READ", "WRITE"], None])
def test_rights_are_checked_if_the_brokers_list_them(rights):
    class Client:
        def describe_topics(self, names):
            return [{"authorized_operations": rights, "error_code": 0}]

    check_rights(Client(), "orders", ["READ"])
    if rights:
        with pytest.raises(RequestError, match=r"DELETE.topic.orders"):
            check_rights(Client(), "orders", ["READ", "DELETE"])


def test_writers_are_those_with_a_journal_of_the_topic():
    names = [journal_of("orders", "main"), journal_of("orders", "b"), journal_of("orders.eu", "c")]
    assert writers_of("orders", [*names, "orders", "orders.decisions"]) == ["b", "main"]
    assert writers_of("orders.eu", names) == ["c"]


def test_a_writer_of_a_topic_has_no_dot():
    assert writer_of_topic(target()) == "main"
    with pytest.raises(RequestError, match=r"'a\.b'.*dashes"):
        writer_of_topic(Target("b:1", "orders", {}, (), writer="a.b"))
