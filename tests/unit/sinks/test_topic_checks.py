"""What brokers are refused for, what is said of them, and how topics are called."""

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


def test_brokers_that_can_do_it_are_taken_without_a_word():
    refuse(brokers())
    assert warnings(brokers()) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (brokers(lists=1), r"which Kafka does from 4\.1"),
        (brokers(version=1), "transaction.version of these brokers is 1: .* does not fence"),
    ],
)
def test_brokers_that_are_too_old_are_refused(found, said):
    with pytest.raises(RequestError, match=said):
        refuse(found)


def test_what_will_hurt_later_is_said_with_its_arithmetic():
    assert warnings(brokers(most=DAY)) == []
    (short,) = warnings(brokers(most=900_000))
    assert "transaction.max.timeout.ms is 900,000: a job that is down for longer" in short
    (many,) = warnings(brokers(expires=7 * DAY))
    assert "leave 2,419,200 ids with the coordinators, and 14,400 with 3,600,000" in many


def test_the_time_out_is_the_largest_or_what_is_asked_for():
    assert chosen(target(), brokers()) == 2_147_483_000
    assert chosen(target(), brokers(most=900_000)) == 900_000
    assert chosen(target(transaction_timeout_ms=60_000), brokers()) == 60_000


@pytest.mark.parametrize("given", ["soon", "999", "900001"])
def test_a_time_out_that_brokers_do_not_take_is_refused(given):
    with pytest.raises(RequestError, match=f"transaction_timeout_ms {given} is refused"):
        chosen(target(transaction_timeout_ms=given), brokers(most=900_000))


@pytest.mark.parametrize("told", [["READ", "WRITE"], None])
def test_rights_are_looked_at_where_brokers_tell_them(told):
    class Client:
        def describe_topics(self, names):
            return [{"authorized_operations": told, "error_code": 0}]

    check_rights(Client(), "orders", ["READ"])
    if told:
        with pytest.raises(RequestError, match="we may not DELETE orders"):
            check_rights(Client(), "orders", ["READ", "DELETE"])


def test_journals_are_found_by_their_topic_and_by_no_other():
    names = [journal_of("orders", "main"), journal_of("orders", "b"), journal_of("orders.eu", "c")]
    assert writers_of("orders", [*names, "orders", "orders.decisions"]) == ["b", "main"]
    assert writers_of("orders.eu", names) == ["c"]


def test_a_writer_of_a_topic_has_no_dot():
    assert writer_of_topic(target()) == "main"
    with pytest.raises(RequestError, match=r"writer 'a\.b' of a topic has a dot"):
        writer_of_topic(Target("b:1", "orders", {}, (), writer="a.b"))
