"""Events that follow those of another input: which, when, and how many of them are strange."""

import json
from collections import Counter

import pyarrow as pa
import pytest

from onceproof.errors import RequestError
from onceproof.workloads import find_workload

VALUE = {"order_id": "id", "amount": "int 1 500", "at": "timestamp"}
ORDERS = {"value": VALUE, "key": "order_id", "events": 1000, "client": "kafka-python"}
PAYMENT = {"order_id": "orders.order_id", "sum": "orders.amount", "paid": "int 1 9"}
MESSAGES = {
    "more": "events is 1,001, but orders has 1,000 to follow; write fewer events",
    "field": "unknown field of orders 'ordr_id'; did you mean 'order_id'",
    "none": "a field of the followed event is missing; write FIELD: orders.FIELD",
    "key": "unknown key 'id'",
    "times": "invalid after_s '60 0'; use least and most seconds, such as 0 1200",
    "type": "field paid: invalid type 'integer'",
}


def orders(**given):
    workload = find_workload("template")
    return list(workload.events(workload.resolve(ORDERS | given), 7, 0))


def payments(producers=1, **given):
    followed = {"workload": "template", "options": ORDERS, "seed": 7}
    options = {
        "follows": "orders",
        "value": PAYMENT,
        "key": "order_id",
        "events": 900,
        "client": "kafka-python",
        "producers": producers,
        "followed": json.dumps(followed),
    }
    workload = find_workload("follows")
    resolved = workload.resolve(options | given)
    workload.pinned(resolved, ".")
    tables = [one for of in range(producers) for one in workload.events(resolved, 9, of)]
    return [
        row | {"value": json.loads(row["value"])} for row in pa.concat_tables(tables).to_pylist()
    ]


def sold():
    rows = pa.concat_tables(orders()).to_pylist()
    found = [(json.loads(row["value"]), row["event_ms"]) for row in rows]
    return {fields["order_id"]: (fields["amount"], at) for fields, at in found}


def test_each_event_follows_another_one_within_the_time():
    found, of = payments(after_s="10 1200"), sold()
    assert len({row["value"]["order_id"] for row in found}) == 900
    for row in found:
        amount, at = of[row["value"]["order_id"]]
        assert row["value"]["sum"] == amount
        assert 10_000 <= row["event_ms"] - at <= 1_200_000
        assert row["key"] == str(row["value"]["order_id"])
    assert len({row["event_ms"] - of[row["value"]["order_id"]][1] for row in found}) > 500


def test_a_share_of_them_follows_an_event_that_never_was_and_a_share_is_sent_twice():
    found = payments(strangers=0.1, redelivered=0.05)
    kinds = Counter(row["kind"] for row in found)
    assert kinds == {"event": 900, "redelivery": 45}
    once = [row["value"]["order_id"] for row in found if row["kind"] == "event"]
    known = sold()
    assert sum(one not in known for one in once) == 90
    values = {row["id"]: row["value"] for row in found if row["kind"] == "event"}
    again = [row for row in found if row["kind"] == "redelivery"]
    assert all(values[row["id"]] == row["value"] for row in again)


def test_the_events_do_not_depend_on_the_number_of_producers():
    one, three = payments(), payments(producers=3)
    values = [{row["id"]: (row["value"], row["event_ms"]) for row in rows} for rows in (one, three)]
    assert values[0] == values[1]
    assert {row["producer"] for row in three} == {0, 1, 2}


def test_page_views_can_be_followed_too():
    followed = {"workload": "page_views", "options": {"events": 50}, "seed": 7}
    found = payments(
        value={"view": "orders.id", "app": "orders.key"},
        key="",
        events=50,
        followed=json.dumps(followed),
    )
    assert sorted(row["value"]["view"] for row in found) == list(range(50))


@pytest.mark.parametrize(
    ("problem", "given"),
    [
        ("more", {"events": 1001}),
        ("field", {"value": {"order_id": "orders.ordr_id"}}),
        ("none", {"value": {"order_id": "id"}}),
        ("key", {"key": "id"}),
        ("times", {"after_s": "60 0"}),
        ("type", {"value": PAYMENT | {"paid": "integer"}}),
    ],
)
def test_a_mistake_is_refused(problem, given):
    with pytest.raises(RequestError) as refused:
        payments(**given)
    assert MESSAGES[problem] in str(refused.value)
