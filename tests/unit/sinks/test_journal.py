"""Claims and decisions in a journal: every reader computes the same state from their order."""

import json

import pytest

from onceproof.sinks.protocol import Decision, Part, Span
from onceproof.sinks.protocol import journal as journals
from onceproof.sinks.protocol.journal import JournalMemory, JournalState


class Paper:
    """One reader of a journal that is a list in memory."""

    def __init__(self, records=None, late=None):
        self.records = [] if records is None else records
        self.place, self.trimmed, self.late = 0, [], late

    def append(self, text):
        if self.late:
            self.late()
        self.records.append(text)

    def read(self):
        found = [(at, text) for at, text in enumerate(self.records) if at >= self.place and text]
        self.place = len(self.records)
        return found

    def trim(self, before):
        self.trimmed.append(before)
        self.records[:before] = [""] * before


def decision(batch, epoch, task=0):
    part = Part("shop", epoch, 1, batch, 0, task)
    return Decision(batch, "query", Span("", str(batch)), epoch, 1, (part,))


def memory(paper, **more):
    return JournalMemory(Paper(paper.records), JournalState(**more))


def test_each_claim_is_higher_than_all_before_it():
    paper = Paper()
    assert [memory(paper).claim(1), memory(paper).claim(2), memory(paper).claim(2)] == [1, 2, 3]


def test_of_two_that_claim_at_once_the_second_claims_again():
    paper = Paper()
    second = memory(paper)
    first = JournalMemory(Paper(paper.records, late=lambda: second.claim(2) if not done else None))
    done = []
    second.journal.late = lambda: done.append(1)
    assert first.claim(1) == 2
    assert second.state.epoch == 1


def test_a_batch_is_decided_once_and_others_read_the_decision():
    paper = Paper()
    ours = memory(paper)
    ours.claim(1)
    assert ours.decide(decision(0, 1))
    assert not ours.decide(decision(0, 1, task=1))
    assert memory(paper).newest() == memory(paper).decision(0) == decision(0, 1)


def test_a_decision_after_a_newer_claim_does_not_count():
    paper = Paper()
    older, newer = memory(paper), memory(paper)
    older.claim(1)
    newer.claim(2)
    assert not older.decide(decision(0, 1))
    assert newer.decision(0) is None
    assert newer.decide(decision(0, 2))


def test_a_late_record_counts_by_its_place_in_the_journal():
    """A record with an unknown outcome appears after the claim of the next run."""
    paper = Paper()
    older = memory(paper)
    older.claim(1)
    late = json.dumps({"token": "x", "epoch": 1, "batch": 0, "decision": decision(0, 1).to_json()})
    newer = memory(paper)
    newer.claim(2)
    paper.records.append(late)
    assert memory(paper).decision(0) is None


def test_undone_batches_are_those_without_a_note():
    paper = Paper()
    ours = memory(paper)
    epoch = ours.claim(1)
    for batch in (0, 1):
        ours.decide(decision(batch, epoch))
    assert ours.note_done(0, epoch)
    assert not ours.note_done(0, epoch)
    assert memory(paper).undone() == [decision(1, epoch)]


def test_with_replaces_a_decision_replaces_one_that_is_not_done():
    paper = Paper()
    ours = memory(paper, replaces=True)
    ours.claim(1)
    assert ours.decide(decision(0, 1))
    assert ours.decide(decision(0, 1, task=1))
    assert memory(paper, replaces=True).newest() == decision(0, 1, task=1)
    ours.note_done(0, 1)
    assert not ours.decide(decision(0, 1, task=2))


def test_a_trimmed_journal_gives_the_same_state(monkeypatch):
    monkeypatch.setattr(journals, "KEPT", 3)
    monkeypatch.setattr(journals, "_TRIM_EVERY", 4)
    paper = Paper()
    ours = memory(paper)
    epoch = ours.claim(1)
    for batch in range(9):
        assert ours.decide(decision(batch, epoch))
        assert ours.note_done(batch, epoch)
    assert ours.journal.trimmed
    assert paper.records[0] == ""
    other = memory(paper)
    assert other.newest() == decision(8, epoch)
    assert other.decision(7) == decision(7, epoch)
    assert other.claim(2) == epoch + 1
    assert not ours.decide(decision(9, epoch))


@pytest.mark.parametrize("claimed", [True, False])
def test_a_run_that_has_claimed_does_not_read_again(claimed):
    paper = Paper()
    ours = memory(paper)
    if claimed:
        ours.claim(1)
    reads = []
    ours.journal.read = lambda: reads.append(1) or []
    ours.newest()
    assert bool(reads) is not claimed
