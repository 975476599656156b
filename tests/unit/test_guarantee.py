import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceproof.guarantee import Anomaly, Guarantee, Promise, end_to_end

AT_MOST, AT_LEAST, EXACTLY = Guarantee
GUARANTEES = st.sampled_from(Guarantee)

ALLOWED = {
    Anomaly.LOST: {AT_MOST},
    Anomaly.DUPLICATED: {AT_LEAST},
    Anomaly.ZOMBIE: {AT_LEAST},
    Anomaly.REGRESSED: {AT_MOST, AT_LEAST},
    Anomaly.UNEXPECTED: set(),
    Anomaly.CHANGED: set(),
    Anomaly.UNCOMMITTED_READ: set(),
    Anomaly.STUCK: set(),
}


@pytest.mark.parametrize("guarantee", Guarantee)
@pytest.mark.parametrize("anomaly", ALLOWED)
def test_each_guarantee_allows_the_anomalies_of_the_table(anomaly, guarantee):
    promise = Promise(guarantee, atomic_batches=False, ordered=False)
    assert promise.allows(anomaly) is (guarantee in ALLOWED[anomaly])


@pytest.mark.parametrize("guarantee", Guarantee)
def test_torn_and_reordered_depend_on_what_the_sink_declares_alone(guarantee):
    bare, full = Promise(guarantee, False, False), Promise(guarantee, True, True)
    assert bare.allows(Anomaly.TORN)
    assert bare.allows(Anomaly.REORDERED)
    assert not full.allows(Anomaly.TORN)
    assert not full.allows(Anomaly.REORDERED)


def test_every_anomaly_has_its_row_in_the_table():
    assert set(Anomaly) - ALLOWED.keys() == {Anomaly.TORN, Anomaly.REORDERED}


@given(GUARANTEES, GUARANTEES, GUARANTEES)
def test_the_whole_is_as_strong_as_its_weakest_part(source, engine, sink):
    whole = end_to_end(source, engine, sink)
    assert whole in (source, engine, sink)
    assert whole == end_to_end(sink, source, engine)
    assert (whole is EXACTLY) == ({source, engine, sink} == {EXACTLY})
    assert (whole is AT_MOST) == (AT_MOST in (source, engine, sink))
