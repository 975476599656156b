"""Page views: the same for the same seed, and disturbed exactly as much as the options say."""

import pyarrow as pa
import pytest

from onceproof.errors import RequestError
from onceproof.workloads import find_workload, sentinel
from onceproof.workloads.page_views import START_MS

PAGE_VIEWS = find_workload("page_views")


def options(**given):
    return PAGE_VIEWS.resolve({"events": 1000, "client": "kafka-python", **given})


def events(seed=7, producer=0, **given):
    return pa.concat_tables(PAGE_VIEWS.events(options(**given), seed, producer)).to_pandas()


def test_the_same_seed_gives_the_same_events():
    disturbed = {"late": 0.1, "redelivered": 0.1, "events": 50_000}
    assert events(seed=7, **disturbed).equals(events(seed=7, **disturbed))


@pytest.mark.parametrize("seed", [8, -7, 0])
def test_another_seed_gives_other_events(seed):
    assert not events(seed=7).equals(events(seed=seed))


def test_producers_share_the_ids_and_send_other_events():
    one, other = (events(producer=number, producers=2) for number in (0, 1))
    assert sorted([*one.id, *other.id]) == list(range(1000))
    assert set(one.producer) == {0}
    assert not one.key.equals(other.key)


def test_the_rate_does_not_change_the_events():
    slow, fast = events(rate=1), events(rate=0)
    assert slow.equals(fast)


def test_the_first_events_do_not_change_between_versions():
    first = events().head(3)
    first.event_ms -= START_MS
    columns = ["id", "key", "seq", "event_ms", "amount"]
    assert first[columns].values.tolist() == [
        [0, "app-013", 1, -316, 52],
        [1, "app-058", 1, -375, 92],
        [2, "app-030", 1, -17, 32],
    ]


def test_a_key_counts_its_events_without_a_gap_over_all_tables():
    found = events(events=45_000)
    for _, seqs in found.groupby("key").seq:
        assert list(seqs) == list(range(1, len(seqs) + 1))


def test_without_disturbance_event_time_grows_evenly():
    found = events(jitter_ms=0, span_ms=10_000)
    assert list(found.event_ms) == [START_MS + 10 * number for number in range(1000)]


def test_exactly_the_given_share_is_late():
    calm, late = events(jitter_ms=0, events=45_000), events(jitter_ms=0, late=0.3, events=45_000)
    behind = calm.event_ms - late.event_ms
    assert behind.value_counts().to_dict() == {0: 31_500, 20_000: 13_500}


@pytest.mark.parametrize(
    ("share", "resent"), [(0, 0), (0.0004, 0), (0.0006, 1), (0.25, 250), (1, 1000)]
)
def test_exactly_the_given_share_is_sent_twice(share, resent):
    found = events(redelivered=share)
    assert dict(found.kind.value_counts()) == {"event": 1000} | (
        {"redelivery": resent} if resent else {}
    )
    assert found.id.nunique() == 1000


def test_a_redelivery_is_the_same_event_later():
    found = events(redelivered=0.2).reset_index()
    first, second = (found[found.kind == kind].set_index("id") for kind in ("event", "redelivery"))
    first = first.loc[second.index]
    assert (second["index"] > first["index"]).all()
    same = ["producer", "key", "seq", "event_ms", "amount"]
    assert first[same].equals(second[same])


def test_keys_are_even_without_skew_and_uneven_with_it():
    even = events(skew=0, keys=10, events=20_000).key.value_counts()
    skewed = events(skew=2, keys=10, events=20_000).key.value_counts()
    assert even.max() < 1.2 * even.min()
    assert skewed["app-000"] > 50 * skewed["app-009"]


def test_the_sentinel_is_later_than_all_events():
    found = events(late=0.5)
    last = sentinel({"events": 1000}, int(found.event_ms.max())).to_pylist()[0]
    assert last["event_ms"] > found.event_ms.max() + 60 * 60 * 1000
    assert last["id"] == 1000
    assert last["key"] not in set(found.key)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"late": 1.5}, "late: invalid value 1.5; use a number of at least 0 and at most 1"),
        ({"late": float("nan")}, "late: invalid value nan; use a number of at least"),
        ({"redelivered": "much"}, "redelivered: invalid value 'much'; use a number of at least"),
        ({"skew": True}, "skew: invalid value True; use a number of at least"),
        ({"events": -1}, "events: invalid value -1; use a whole number of at least"),
        ({"events": 10.0}, "events: invalid value 10.0; use a whole number of at least"),
        ({"keys": 0}, "keys: invalid value 0; use a whole number of at least"),
        ({"span_ms": -1}, "span_ms: invalid value -1; use a whole number of at least"),
        ({"jitter_ms": -1}, "jitter_ms: invalid value -1; use a whole number of at least"),
        ({"late_by_ms": None}, "late_by_ms: invalid value None; use a whole number of at least"),
        ({"rate": -1}, "rate: invalid value -1; use a number of at least 0 and at most 10000000"),
        ({"producers": 65}, "producers: invalid value 65; use a whole number of at least"),
        ({"producers": 3, "events": 2}, "producers: 3 exceeds the number of events, 2; write"),
        ({"client": "kcat"}, "client: unknown value 'kcat'; choose one of confluent, kafka-python"),
        ({"awkward": 1.5}, "awkward: invalid value 1.5; use a number of at least 0 and at most 1"),
        ({"spread": 1}, "spread: unknown key 'spread'; choose one of awkward, client, deliv"),
        ({"span": 1}, "span: unknown key 'span'; did you mean 'span_ms'? Choose one of "),
    ],
)
def test_an_invalid_option_is_rejected(given, message):
    with pytest.raises(RequestError) as refused:
        options(**given)
    assert str(refused.value).startswith(f"workload page_views: {message}")


def test_a_client_that_is_not_installed_is_a_valid_option(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert PAGE_VIEWS.resolve({})["client"] == "kafka-python"
    for found in (options(client="confluent"), PAGE_VIEWS.resolve({"delivery_s": 2})):
        assert found["client"] == "confluent"


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("page_hits", "'page_hits'"),
        ("nowhere:VIEWS", "'nowhere:VIEWS'.*page_views, records, template"),
        ("json:codecs", r"^json:codecs.*module.*Workload"),
    ],
)
def test_an_unknown_workload_is_rejected(name, named):
    with pytest.raises(RequestError, match=named):
        find_workload(name)


def test_a_workload_can_be_a_module_attribute():
    assert find_workload("tests.unit.workloads.test_workloads:PAGE_VIEWS") is not None
