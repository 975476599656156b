"""Waiting for a phase or a fault reads each record of the history once."""

import json
from pathlib import Path

import pytest

from onceproof.airflow.orchestrated import PhaseWatch
from onceproof.errors import EvidenceError, StackError
from onceproof.phases.phase import await_phase
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History, HistoryReader
from onceproof.runs.records import Op, Outcome, Record, to_line
from tests.plans import plan_document

MANY, LOOKS = 2000, 50
PROGRESS = {"offered": 1, "acknowledged": 1}


def bytes_read() -> int:
    """Return the number of bytes that this process has read by system calls, cached ones too."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


def lengthen(path):
    """Append many records, and return the size of the history."""
    first = History(path).last_seq() + 1
    with path.open("ab") as file:
        for seq in range(first, first + MANY):
            record = Record(seq, 1.0, 1.0, "produce", Op.INPUT_PROGRESS, Outcome.OK, proof=PROGRESS)
            file.write(to_line(record))
    return path.stat().st_size


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def test_waiting_for_a_phase_reads_each_record_once(run, monkeypatch):
    history, looks = History(run.history), []
    history.append("compare", Op.PHASE_START)
    size = lengthen(run.history)

    def sleep(_seconds):
        looks.append(1)
        if len(looks) == LOOKS:
            history.append("compare", Op.PHASE_END)

    monkeypatch.setattr("onceproof.machine.polling.time.sleep", sleep)
    before = bytes_read()
    await_phase(run, "compare", 60)
    assert len(looks) == LOOKS
    assert bytes_read() - before < 2 * size


def test_waiting_for_strikes_reads_each_record_once_for_them_and_once_for_the_input(run):
    fault = {"name": "kill_driver", "verb": "kill", "target": "driver", "when": {"batch": 3}}
    plan = plan_document(run="waited_1", faults=[fault, {**fault, "name": "again"}])
    run.plan.write_text(json.dumps(plan))
    history, watch, size = History(run.history), PhaseWatch(run, "disturb"), lengthen(run.history)
    before = bytes_read()
    for _ in range(LOOKS):
        assert not watch.has_ended()
    assert bytes_read() - before < 3 * size
    history.append("again", Op.FAULT_STRIKE, proof={"dead": [1]})
    history.append("kill_driver", Op.FAULT_STRIKE, Outcome.FAILED, proof={"reason": "no driver"})
    assert not watch.has_ended()
    history.append("kill_driver", Op.FAULT_STRIKE, proof={"dead": [1]})
    assert watch.has_ended()


def test_a_second_look_reads_only_new_records(run):
    history, reader = History(run.history), HistoryReader(run.history)
    assert reader.read_new() == ()
    size = lengthen(run.history)
    assert len(reader.read_new()) == MANY
    run.history.write_bytes(b"?" * size)  # reading that again would raise
    new = to_line(Record(MANY + 1, 1.0, 1.0, "reader", Op.SINK_RECOVER, Outcome.OK))
    with run.history.open("ab") as file:
        file.write(new[:-9])
    assert reader.read_new() == ()
    with run.history.open("ab") as file:
        file.write(new[-9:])
    assert [one.seq for one in reader.read_new()] == [MANY + 1]
    assert reader.read_new() == ()
    with pytest.raises(EvidenceError, match="history"):
        history.read()


def test_a_torn_line_is_read_as_the_record_that_replaces_it(run):
    history, reader = History(run.history), HistoryReader(run.history)
    history.append("sink", Op.SINK_RECOVER)
    with run.history.open("ab") as file:
        file.write(b'{"seq": 2, "act')
    assert [one.seq for one in reader.read_new()] == [1]
    history.append("sink", Op.SINK_RECOVER)
    assert [(one.seq, one.op) for one in reader.read_new()] == [
        (2, Op.HISTORY_TORN),
        (3, Op.SINK_RECOVER),
    ]


def test_a_phase_that_was_started_again_has_not_ended(run):
    history = History(run.history)
    history.append("compare", Op.PHASE_START)
    history.append("compare", Op.PHASE_END, Outcome.FAILED, proof={"reason": "no rows"})
    with pytest.raises(StackError, match="rows"):
        await_phase(run, "compare", 0)
    history.append("compare", Op.PHASE_START)
    with pytest.raises(StackError, match="compare"):
        await_phase(run, "compare", 0)
