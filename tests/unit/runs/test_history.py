import json
import os
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceproof.errors import EvidenceError
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome


@pytest.fixture
def history(tmp_path):
    return History(tmp_path / "history.jsonl")


def three(history):
    for attempt in (1, 2, 3):
        history.append("supervisor", Op.ATTEMPT_START, attempt=attempt)
    return history.path


def test_what_was_appended_is_read_back_in_order(history):
    proof = {"decided": "commit", "key": "ü\n\u2028"}
    history.append("sink", Op.DECISION, Outcome.UNKNOWN, batch=7, attempt=1)
    written = history.append("sink", Op.DECISION, batch=7, attempt=1, proof=proof)
    first, second = history.read()
    assert (first.seq, first.outcome, first.is_ok) == (1, Outcome.UNKNOWN, False)
    assert second == written
    assert second.proof == proof
    assert history.last_seq() == 2


def test_a_torn_last_line_is_left_out(history):
    path = three(history)
    path.write_bytes(path.read_bytes()[:-1])
    assert [record.seq for record in history.read()] == [1, 2]


def test_an_append_after_a_torn_line_keeps_what_was_torn(history):
    path = three(history)
    path.write_bytes(path.read_bytes()[:-20])
    history.append("reader", Op.POLL, proof={"poll": 1, "rows": 0, "since": 2})
    torn, poll = history.read()[2:]
    assert (torn.op, torn.seq, poll.seq) == (Op.HISTORY_TORN, 3, 4)
    assert '"actor": "supervisor"' in torn.proof["text"]


@given(cut=st.integers(0, 400))
def test_wherever_a_writer_crashed_the_history_can_be_read_and_continued(tmp_path_factory, cut):
    history = History(tmp_path_factory.mktemp("run") / "history.jsonl")
    path = three(history)
    os.truncate(path, min(cut, path.stat().st_size))
    history.append("sink", Op.SINK_RECOVER)
    records = history.read()
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert records[-1].op is Op.SINK_RECOVER


def spoiled(path, number, **fields):
    lines = path.read_text().splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | fields)
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"seq": 7}, "missing, duplicated or out of order"),
        ({"seq": "2"}, "type int"),
        ({"op": "fault.strke"}, "unknown op 'fault.strke'; did you mean 'fault.strike'?"),
        ({"outcome": "fine"}, "unknown outcome 'fine'"),
        ({"mono": "noon"}, "number of seconds"),
        ({"wall": True}, "number of seconds"),
        ({"actor": None}, "type str"),
        ({"attempt": -1}, "below 0"),
        ({"proof": []}, "type dict"),
        ({"colour": "red"}, "unknown fields: colour"),
        ({"op": "poll", "proof": {"poll": 1, "rows": 2}}, "has no 'since'"),
        ({"op": "read", "proof": {"rows": -1, "digest": "d"}}, "below 0"),
        ({"op": "decision", "proof": {"decided": "commit"}}, "has no batch"),
    ],
)
def test_a_damaged_middle_line_is_an_error_with_its_number(history, fields, message):
    path = three(history)
    spoiled(path, 1, **fields)
    with pytest.raises(EvidenceError, match=re.escape(message)) as caught:
        history.read()
    assert "line 2 of the history" in str(caught.value)


@pytest.mark.parametrize("junk", [b"{", b"", b"[]", b"\xff\xfe", b'{"seq": NaN}', b'{"a":1,"a":2}'])
def test_a_corrupt_middle_line_is_an_error_with_its_number(history, junk):
    path = three(history)
    lines = path.read_bytes().split(b"\n")
    lines[1] = junk
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(EvidenceError, match=r"line.2.of"):
        history.read()


def test_a_duplicated_record_is_an_error(history):
    path = three(history)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], lines[1], lines[2]]))
    with pytest.raises(EvidenceError, match=r"line.3.*seq.2"):
        history.read()


def test_a_missing_record_is_an_error(history):
    path = three(history)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[2]]))
    with pytest.raises(EvidenceError, match=r"line.2.*seq.3"):
        history.read()


def test_no_history_and_an_empty_one_are_errors(history):
    with pytest.raises(EvidenceError, match="missing"):
        history.read()
    history.path.touch()
    with pytest.raises(EvidenceError, match="records"):
        history.read()


def test_a_history_that_only_begins_is_empty_so_far(history):
    assert history.so_far() == ()
    history.path.touch()
    assert history.so_far() == ()
    first = history.append("plan", Op.PHASE_START)
    with history.path.open("ab") as file:
        file.write(b'{"seq":')
    assert history.so_far() == (first,)


def test_rows_do_not_fit_into_a_record(history):
    with pytest.raises(EvidenceError, match="parquet"):
        history.append("reader", Op.READ, proof={"rows": 1, "digest": "x" * 70_000})
    assert history.last_seq() == 0


def test_a_record_that_could_not_be_read_back_is_not_written(history):
    with pytest.raises(EvidenceError, match="attempt"):
        history.append("supervisor", Op.ATTEMPT_START)
    with pytest.raises(EvidenceError, match="JSON"):
        history.append("agent", Op.FAULT_STRIKE, proof={"at": {1, 2}})
    assert history.last_seq() == 0


def append_many(path, actor):
    history = History(path)
    for at in range(50):
        history.append(actor, Op.BATCH_COMMIT, batch=at)


def test_processes_that_append_at_once_lose_nothing_and_keep_their_own_order(history):
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        list(pool.map(append_many, [history.path] * 4, "abcd"))
    records = history.read()
    assert len(records) == 200
    for actor in {record.actor for record in records}:
        mine = [record for record in records if record.actor == actor]
        assert [record.batch for record in mine] == sorted(record.batch for record in mine)
    assert [r.mono for r in records] == sorted(r.mono for r in records)
