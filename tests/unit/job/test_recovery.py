"""What a sink's recovery leaves in the history."""

import pytest

from onceproof.errors import StackError
from onceproof.fencing import FILE, fenced
from onceproof.job.recovery import Recovery
from onceproof.runs.history import History


class Recovers:
    def __init__(self, *done):
        self.done = list(done)

    def recover(self):
        found = self.done.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def told(tmp_path, *done):
    history = History(tmp_path / "history.jsonl")
    recovery = Recovery(Recovers(*done), history, tmp_path / "fenced.jsonl", lambda: True)
    said = [recovery.settle() for _ in done]
    return said, history.read()


def test_decisions_come_before_the_record_of_the_recovery_and_once(tmp_path):
    done = {"epoch": 2, "decided": {(7, 1)}, "undone": {(8, 1)}}
    said, records = told(tmp_path, done, {"epoch": 3, "decided": {(7, 1)}})
    assert said == ["", ""]
    assert [(one.op, one.batch, one.attempt, dict(one.proof)) for one in records] == [
        ("decision", 7, 1, {"decided": "commit"}),
        ("decision", 8, 1, {"decided": "abort"}),
        ("sink.recover", None, None, {"epoch": 2}),
        ("sink.recover", None, None, {"epoch": 3}),
    ]


def test_what_the_sink_did_against_the_replaced_is_told_once_and_first(tmp_path, monkeypatch):
    monkeypatch.setenv(FILE, str(tmp_path / "fenced.jsonl"))
    fenced(7, "a run was superseded", epoch=1)
    with (tmp_path / "fenced.jsonl").open("a") as file:
        file.write('{"batch": 8, "wh')
    _, records = told(tmp_path, {}, {})
    assert [one.op for one in records] == ["fenced", "sink.recover", "sink.recover"]
    proof = {"what": "a run was superseded", "epoch": 1}
    assert (records[0].batch, dict(records[0].proof)) == (7, proof)


def test_a_recovery_that_raises_is_recorded_and_said(tmp_path):
    said, (record,) = told(tmp_path, ValueError("no"))
    assert said == ["the sink's recovery failed: no"]
    assert (record.outcome, record.proof["reason"]) == ("failed", "ValueError: no")


def test_a_store_that_was_struck_too_is_waited_for(tmp_path):
    history = History(tmp_path / "history.jsonl")
    sink = Recovers(StackError("it is down"), StackError("it is down"), {"epoch": 2})
    recovery = Recovery(sink, history, tmp_path / "fenced.jsonl", lambda: True)
    assert recovery.settle() == ""
    assert [dict(one.proof) for one in history.read()] == [{"epoch": 2}]


@pytest.mark.parametrize(("waits", "patience_s"), [(True, 0), (False, 30)])
def test_a_store_that_stays_away_is_not_waited_for_without_end(tmp_path, waits, patience_s):
    sink = Recovers(*[StackError("it is down")] * 3)
    history = History(tmp_path / "history.jsonl")
    recovery = Recovery(sink, history, tmp_path / "fenced.jsonl", lambda: waits, patience_s)
    assert recovery.settle() == "the sink's recovery failed: it is down"


def test_names_without_end_are_cut(tmp_path):
    _, (record,) = told(tmp_path, {"rolled_back": ["writer:1:1:0:0:17"] * 9000})
    assert len(record.proof["rolled_back"]) == 200
