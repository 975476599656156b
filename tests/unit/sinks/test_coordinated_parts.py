"""What a store does when its coordinator has ended, forgotten or given away a transaction."""

import pytest

from onceproof import fencing
from onceproof.sinks.protocol import Decision, Part, Span
from onceproof.sinks.protocol.coordinated import LostError, id_of
from tests.model.coordinator import HEAD, MARK, topic_store
from tests.model.world import World

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


def again(world):
    return topic_store(world, 1, lambda: None)


def decide(store):
    decision = Decision(0, "query", Span("", "2"), 1, 1, PARTS)
    assert store.memory.decide(decision)
    return decision


def name(part):
    return id_of(HEAD, part, MARK)


def test_what_is_committed_is_noted_and_then_it_is_open_no_more(world, store):
    decide(store)
    store.commit(PARTS[0])
    assert again(world).open() == list(PARTS)
    store.commit(PARTS[1])
    assert (again(world).open(), world.visible.total()) == ([], 2)


def test_what_was_committed_and_not_noted_is_found_committed(world, store):
    decide(store)
    for part in PARTS:
        world.transactions.end(name(part), store.intact()[part].producer, 0, commit=True)
    other = again(world)
    assert other.open() == list(PARTS)
    for part in other.open():
        other.commit(part)
    assert again(world).open() == []


def test_a_decided_part_whose_time_out_has_passed_is_never_lost_in_silence(world, store):
    decide(store)
    world.transactions.expire(name(PARTS[1]))
    other = again(world)
    other.open()
    other.commit(PARTS[0])
    for _ in range(2):
        with pytest.raises(LostError, match=r"batch 0 is decided, .* when its time-out .* lost"):
            other.commit(PARTS[1])
    assert again(world).open() == list(PARTS)


def test_somebody_who_knows_goes_on_without_the_lost(world, store):
    decision = decide(store)
    world.transactions.expire(name(PARTS[1]))
    other = again(world)
    assert other.lost(decision) == [PARTS[1]]
    assert other.memory.undone() == [decision]
    other.give_up(decision)
    assert (again(world).open(), sorted(world.visible)) == ([], [0])


def test_a_store_that_goes_on_tells_what_it_has_lost_once(world, store, tmp_path, monkeypatch):
    monkeypatch.setenv(fencing.FILE, str(tmp_path / "fenced"))
    decide(store)
    world.transactions.expire(name(PARTS[1]))
    other = again(world)
    other.goes_on = True
    for part in other.open():
        other.commit(part)
    (told,) = fencing.told(tmp_path / "fenced", 0)
    assert (told["batch"], told["what"]) == (0, "a decided part was lost")
    assert list(other.given_up) == [PARTS[1]]
    assert (again(world).open(), sorted(world.visible)) == ([], [0])


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_what_the_coordinator_cannot_say_is_not_guessed(world, store, is_forgotten):
    """It forgot the id, or somebody has initialised it again since."""
    decide(store)
    world.transactions.end(name(PARTS[0]), store.intact()[PARTS[0]].producer, 0, commit=True)
    if is_forgotten:
        del world.transactions.known[name(PARTS[0])]
    else:
        world.transactions.init(name(PARTS[0]))
    other = again(world)
    with pytest.raises(LostError, match="whether its rows are there the brokers cannot say"):
        other.commit(PARTS[0])


def test_a_hijacked_id_is_not_ours_to_decide_or_to_end(world, store, tmp_path, monkeypatch):
    monkeypatch.setenv(fencing.FILE, str(tmp_path / "fenced"))
    _, epoch = world.transactions.init(name(PARTS[0]))
    world.transactions.write(name(PARTS[0]), epoch)
    assert store.open() == [PARTS[1]]
    store.abort(PARTS[0])
    assert list(store.taken_over()) == [name(PARTS[0])]
    (first, *_) = fencing.told(tmp_path / "fenced", 0)
    assert first["what"] == "an id of ours was taken over"


def test_what_another_journal_has_begun_is_not_ours(world, store):
    """The journal was removed and made anew, and has given the same epoch again."""
    store.memory.journal.mark = lambda: "another"
    assert store.open() == []
    assert sorted(store.taken_over()) == [name(part) for part in PARTS]


def test_what_is_aborted_fences_whoever_still_writes(world, store):
    late = store.begin(Part("model", 1, 1, 0, 0, 1))
    late.write([7])
    store.abort(late.part)
    with pytest.raises(Exception, match="was fenced"):
        late.pre_commit()
    assert store.open() == list(PARTS)
