"""The records of a sink's recovery in the history."""

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


def settle(tmp_path, *done):
    history = History(tmp_path / "history.jsonl")
    recovery = Recovery(Recovers(*done), history, tmp_path / "fenced.jsonl", lambda: True)
    reasons = [recovery.settle() for _ in done]
    return reasons, history.read()


def test_decisions_come_before_the_record_of_the_recovery_and_once(tmp_path):
    done = {"epoch": 2, "decided": {(7, 1)}, "undone": {(8, 1)}}
    reasons, records = settle(tmp_path, done, {"epoch": 3, "decided": {(7, 1)}})
    assert reasons == ["", ""]
    assert [(one.op, one.batch, one.attempt, dict(one.proof)) for one in records] == [
        ("decision", 7, 1, {"decided": "commit"}),
        ("decision", 8, 1, {"decided": "abort"}),
        ("sink.recover", None, None, {"epoch": 2}),
        ("sink.recover", None, None, {"epoch": 3}),
    ]


def test_fencing_by_the_sink_is_recorded_once_and_first(tmp_path, monkeypatch):
    monkeypatch.setenv(FILE, str(tmp_path / "fenced.jsonl"))
    fenced(7, "a run was superseded", epoch=1)
    with (tmp_path / "fenced.jsonl").open("a") as file:
        file.write('{"batch": 8, "wh')
    _, records = settle(tmp_path, {}, {})
    assert [one.op for one in records] == ["fenced", "sink.recover", "sink.recover"]
    proof = {"what": "a run was superseded", "epoch": 1}
    assert (records[0].batch, dict(records[0].proof)) == (7, proof)


def test_a_recovery_that_raises_is_recorded_and_returned(tmp_path):
    reasons, (record,) = settle(tmp_path, ValueError("no"))
    assert reasons == ["the sink's recovery failed: no"]
    assert (record.outcome, record.proof["reason"]) == ("failed", "ValueError: no")


def test_recovery_waits_for_a_store_that_is_down(tmp_path):
    history = History(tmp_path / "history.jsonl")
    sink = Recovers(StackError("it is down"), StackError("it is down"), {"epoch": 2})
    recovery = Recovery(sink, history, tmp_path / "fenced.jsonl", lambda: True)
    assert recovery.settle() == ""
    assert [dict(one.proof) for one in history.read()] == [{"epoch": 2}]


@pytest.mark.parametrize(("waits", "patience_s"), [(True, 0), (False, 30)])
def test_recovery_does_not_wait_forever(tmp_path, waits, patience_s):
    sink = Recovers(*[StackError("it is down")] * 3)
    history = History(tmp_path / "history.jsonl")
    recovery = Recovery(sink, history, tmp_path / "fenced.jsonl", lambda: waits, patience_s)
    assert recovery.settle() == "the sink's recovery failed: it is down"


def test_a_long_list_of_names_is_cut(tmp_path):
    _, (record,) = settle(tmp_path, {"rolled_back": ["writer:1:1:0:0:17"] * 9000})
    assert len(record.proof["rolled_back"]) == 200
