"""Looks recorded as polls: the rows, the history, and the files of a reader that crashed."""

import pytest

from onceproof.job.reads_log import ReadsLog
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome
from onceproof.sinks import Look


class Scripted:
    """A reader that returns given looks, or raises given errors."""

    def __init__(self, *looks):
        self.looks = list(looks)

    def look(self):
        found = self.looks.pop(0)
        if isinstance(found, Exception):
            raise found
        return Look.of(found)

    def close(self):
        pass


def row(key, value, copies=1, attempt=1):
    return (copies, key, value, None, None, 0, attempt)


@pytest.fixture
def run(tmp_path):
    History(tmp_path / "history.jsonl").append("supervisor", Op.ATTEMPT_START, attempt=1)
    return RunDirectory(tmp_path)


def kept(run):
    return Evidence(run).reads.ask("select poll, copies, key, value from reads order by all")


def test_a_look_without_changes_is_a_poll_without_rows(run):
    log = ReadsLog(run, Scripted([], []))
    assert [log.poll_once().proof["rows"] for _ in range(2)] == [0, 0]
    assert kept(run) == []
    assert [poll.number for poll in Evidence(run).polls] == [1, 2]


def test_a_look_is_kept_with_its_poll_and_the_record_before_it(run):
    log = ReadsLog(run, Scripted([row("a", "1")], [], [row("a", "1", -1), row("a", "2")]))
    since = [log.poll_once().proof["since"] for _ in range(3)]
    assert since == [1, 2, 3]
    assert kept(run) == [(1, 1, "a", "1"), (3, -1, "a", "1"), (3, 1, "a", "2")]


def test_a_look_that_fails_is_a_failed_poll_and_the_next_one_has_all_rows(run):
    log = ReadsLog(run, Scripted(OSError("store is down"), [row("a", "1")]))
    record = log.poll_once()
    assert record.outcome is Outcome.FAILED
    assert record.proof == {"why": "OSError: store is down"}
    log.poll_once()
    assert kept(run) == [(1, 1, "a", "1")]


def test_a_second_reader_keeps_only_changes_since_the_last_poll_of_the_first(run):
    ReadsLog(run, Scripted([row("a", "1"), row("b", "1"), row("b", "1")])).poll_once()
    second = ReadsLog(run, Scripted([row("b", "1"), row("c", "1"), row("a", "1", attempt=2)], []))
    second.poll_once()
    second.poll_once()
    assert kept(run)[3:] == [
        *((2, -1, "a", "1"), (2, -1, "b", "1")),
        *((2, 1, "a", "1"), (2, 1, "c", "1")),
    ]


def test_rows_whose_poll_was_not_recorded_are_kept_again(run):
    ReadsLog(run, Scripted([row("a", "1")])).poll_once()
    lines = run.history.read_bytes().splitlines(keepends=True)
    run.history.write_bytes(b"".join(lines[:-1]))
    ReadsLog(run, Scripted([row("b", "1")])).poll_once()
    assert kept(run) == [(1, 1, "b", "1")]
