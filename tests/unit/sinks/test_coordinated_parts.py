"""A store whose coordinator has ended, forgotten or given away a transaction."""

import re

import pytest

from onceproof import fencing
from onceproof.sinks.protocol import Decision, Part, Span
from onceproof.sinks.protocol.coordinated import LostError, id_of
from tests.model.coordinator import HEAD, MARK, topic_store
from tests.model.world import World

LOST = {
    "aborted": "is decided, but its transaction model:1:1:0:1:0 was aborted by the brokers",
    "unknown": "is decided, but its transaction model:1:1:0:0:0 is ",
}
PARTS = tuple(Part("model", 1, 1, 0, partition, 0) for partition in (0, 1))


@pytest.fixture
def world():
    return World()


@pytest.fixture
def store(world):
    made = topic_store(world, 0, lambda: None)
    made.memory.claim(1)
    for number, part in enumerate(PARTS):
        begun = made.begin(part)
        begun.write([number])
        begun.pre_commit()
    return made


def next_run(world):
    return topic_store(world, 1, lambda: None)


def decide(store):
    decision = Decision(0, "query", Span("", "2"), 1, 1, PARTS)
    assert store.memory.decide(decision)
    return decision


def name(part):
    return id_of(HEAD, part, MARK)


def test_a_committed_batch_is_noted_as_done_and_no_longer_open(world, store):
    decide(store)
    store.commit(PARTS[0])
    assert next_run(world).open() == list(PARTS)
    store.commit(PARTS[1])
    assert (next_run(world).open(), world.visible.total()) == ([], 2)


def test_a_committed_batch_without_a_note_is_found_committed(world, store):
    decide(store)
    for part in PARTS:
        world.transactions.end(name(part), store.intact()[part].producer, 0, commit=True)
    other = next_run(world)
    assert other.open() == list(PARTS)
    for part in other.open():
        other.commit(part)
    assert next_run(world).open() == []


def test_losing_a_timed_out_decided_part_raises_each_time(world, store):
    decide(store)
    world.transactions.expire(name(PARTS[1]))
    other = next_run(world)
    other.open()
    other.commit(PARTS[0])
    for _ in range(2):
        with pytest.raises(LostError, match=re.escape(LOST["aborted"])):
            other.commit(PARTS[1])
    assert next_run(world).open() == list(PARTS)


def test_an_operator_can_give_up_lost_parts(world, store):
    decision = decide(store)
    world.transactions.expire(name(PARTS[1]))
    other = next_run(world)
    assert other.lost(decision) == [PARTS[1]]
    assert other.memory.undone() == [decision]
    other.give_up(decision)
    assert (next_run(world).open(), sorted(world.visible)) == ([], [0])


def test_a_store_that_goes_on_records_a_loss_once(world, store, tmp_path, monkeypatch):
    monkeypatch.setenv(fencing.FILE, str(tmp_path / "fenced"))
    decide(store)
    world.transactions.expire(name(PARTS[1]))
    other = next_run(world)
    other.goes_on = True
    for part in other.open():
        other.commit(part)
    (record,) = fencing.read_records(tmp_path / "fenced", 0)
    assert (record["batch"], record["what"]) == (0, "a decided part was lost")
    assert list(other.given_up) == [PARTS[1]]
    assert (next_run(world).open(), sorted(world.visible)) == ([], [0])


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_an_unknown_outcome_is_an_error_and_not_guessed(world, store, is_forgotten):
    """The coordinator has forgotten the id, or another client has initialised it since."""
    decide(store)
    world.transactions.end(name(PARTS[0]), store.intact()[PARTS[0]].producer, 0, commit=True)
    if is_forgotten:
        del world.transactions.known[name(PARTS[0])]
    else:
        world.transactions.init(name(PARTS[0]))
    other = next_run(world)
    with pytest.raises(LostError, match=re.escape(LOST["unknown"])):
        other.commit(PARTS[0])


def test_a_hijacked_transaction_is_neither_decided_nor_ended(world, store, tmp_path, monkeypatch):
    monkeypatch.setenv(fencing.FILE, str(tmp_path / "fenced"))
    _, epoch = world.transactions.init(name(PARTS[0]))
    world.transactions.write(name(PARTS[0]), epoch)
    assert store.open() == [PARTS[1]]
    store.abort(PARTS[0])
    assert list(store.taken_over()) == [name(PARTS[0])]
    (first, *_) = fencing.read_records(tmp_path / "fenced", 0)
    assert first["what"] == "a transactional id was taken over"


def test_transactions_of_another_journal_are_left_alone(world, store):
    """The journal was removed and recreated, and has used the same epoch again."""
    store.memory.journal.mark = lambda: "another"
    assert store.open() == []
    assert sorted(store.taken_over()) == [name(part) for part in PARTS]


def test_an_abort_fences_a_producer_that_still_writes(world, store):
    late = store.begin(Part("model", 1, 1, 0, 0, 1))
    late.write([7])
    store.abort(late.part)
    with pytest.raises(Exception, match="fenced"):
        late.pre_commit()
    assert store.open() == list(PARTS)
