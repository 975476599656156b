"""Checkers of the stream itself: each is shown what it must not pass, then what it must."""

import json
import shutil

import pytest

from onceproof.judging.checkers import run_checkers
from onceproof.judging.checkers.offset_log import offset_log
from onceproof.judging.checkers.state import state
from onceproof.verdict import Grade
from tests.unit.handwritten_checkpoint import remove, write_file
from tests.unit.handwritten_run import HandwrittenRun, did, good_recomputed, offsets

REASONS = {
    "fewer_batches": "recomputed from 1 batches, but 2 are committed",
    "held_back": "by its events it is 0",
    "no_watermark": "late rows cannot occur",
    "watermarks": "every watermark follows from the events",
    "stream": "the stream itself went wrong",
    "sink": "the sink caused the differences",
    "unreadable": "could not be read: CANNOT_LOAD_STATE_STORE",
    "contradiction": "but no difference",
    "old_state": "read after batch 0, but batch 1 is the last",
    "no_state": "The pipeline keeps no state",
    "no_batch_0": "no offsets of batch 0",
    "gap": "offsets/0 is empty",
    "short": "has events-0 up to 5, but the ledger goes up to 5",
    "another": "offsets/1 differs from the archive",
    "gone": "offsets/1 was archived and is gone",
    "never_archived": "commits/2 is in the checkpoint but not in the archive",
    "too_far": "batch 0 moved the watermark to 10001, but by its events it is 10000",
    "stood_still": "batch 0 moved the watermark to 0, but by its events it is 10000",
    "at_start": "batch 0 begins with the watermark 1",
}

PASS, UNKNOWN, FAIL = Grade


@pytest.fixture
def run():
    return HandwrittenRun()


def found(checker, run, folder, spoil=lambda _: None):
    """The finding on a run whose directory was spoiled after it had been written."""
    evidence = run.write(folder)
    spoil(evidence.run)
    [finding] = run_checkers(evidence, [checker])
    assert not finding.traceback
    return finding


def in_both(run, name, text):
    for folder in (run.checkpoint, run.checkpoint_log):
        write_file(folder / name, text)


def log(watermark, end):
    head = {"batchWatermarkMs": watermark, "batchTimestampMs": 1, "conf": {}}
    return "\n".join(["v1", json.dumps(head), json.dumps({"events": {"0": end}})])


def commit(watermark):
    return "v1\n" + json.dumps({"nextBatchWatermarkMs": watermark})


def moved_too_far(run):
    """W after batch 0 is 10000 by its events: the newest of them is at 12000."""
    in_both(run, "commits/0", commit(10_001))
    in_both(run, "offsets/1", log(10_001, 6))


def stood_still(run):
    in_both(run, "commits/0", commit(0))
    in_both(run, "offsets/1", log(0, 6))


SPOILED = {
    "the archive is gone": (lambda r: shutil.rmtree(r.checkpoint_log), "has no commit"),
    "the archive begins too late": (
        lambda r: (r.checkpoint_log / "offsets/0").unlink(),
        REASONS["no_batch_0"],
    ),
    "the archive has a gap": (
        lambda r: (r.checkpoint_log / "offsets/0").write_text(""),
        REASONS["gap"],
    ),
    "the log goes back": (lambda r: in_both(r, "offsets/1", log(10_000, 2)), "goes back"),
    "the log ends before the ledger": (
        lambda r: in_both(r, "offsets/1", log(10_000, 5)),
        REASONS["short"],
    ),
    "the checkpoint is another": (
        lambda r: write_file(r.checkpoint / "offsets/1", log(10_000, 7)),
        REASONS["another"],
    ),
    "the checkpoint is gone": (lambda r: shutil.rmtree(r.checkpoint), "there is no checkpoint"),
    "an archived batch is gone from the checkpoint": (
        lambda r: [remove(r.checkpoint / name) for name in ("offsets/1", "commits/1")],
        REASONS["gone"],
    ),
    "a commit was never archived": (
        lambda r: [
            write_file(r.checkpoint / "offsets/2", log(13_000, 6)),
            write_file(r.checkpoint / "commits/2", commit(13_000)),
        ],
        REASONS["never_archived"],
    ),
    "the watermark moved farther than any event": (
        moved_too_far,
        REASONS["too_far"],
    ),
    "the watermark stood still without a reason": (
        stood_still,
        REASONS["stood_still"],
    ),
    "the watermark was there at the start": (
        lambda r: in_both(r, "offsets/0", log(1, 3)),
        REASONS["at_start"],
    ),
    "nothing was recomputed": (lambda r: r.recomputed.unlink(), "recomputed.json is missing"),
}


@pytest.mark.parametrize(("spoil", "words"), SPOILED.values(), ids=SPOILED.keys())
def test_an_offset_log_that_cannot_be_is_unknown(spoil, words, run, tmp_path):
    finding = found(offset_log, run, tmp_path, spoil)
    assert finding.verdict is UNKNOWN
    assert words in finding.reason


def test_rows_expected_from_fewer_batches_are_unknown(run, tmp_path):
    run.recomputed["batches"] = 1
    finding = found(offset_log, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert REASONS["fewer_batches"] in finding.reason


def test_a_watermark_without_a_delay_is_unknown(run, tmp_path):
    run.recomputed["delay_ms"] = None
    finding = found(offset_log, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert REASONS["held_back"] in finding.reason


def test_a_watermark_that_a_repeated_batch_held_back_passes_and_is_counted(run, tmp_path):
    finding = found(offset_log, run, tmp_path, lambda r: in_both(r, "commits/1", commit(10_000)))
    assert (finding.verdict, finding.numbers["watermarks_held_back"]) == (PASS, 1)
    assert "held back" in finding.reason


def test_an_offset_log_that_agrees_with_the_ledger_passes(run, tmp_path):
    finding = found(offset_log, run, tmp_path)
    assert (finding.verdict, finding.numbers) == (PASS, {"batches": 2, "watermarks_held_back": 0})
    assert REASONS["watermarks"] in finding.reason


def test_nothing_is_said_of_late_rows_if_the_expected_rows_do_not_rest_on_the_log(run, tmp_path):
    """The job may have a watermark, which the reference does not know."""
    run.recomputed |= {"rests_on_log": False, "delay_ms": None}
    finding = found(offset_log, run, tmp_path)
    assert finding.verdict is PASS
    assert REASONS["no_watermark"] not in finding.reason


def test_batches_that_were_not_committed_do_not_count(run, tmp_path):
    run.history.insert(-8, did("batch.offsets", "archiver", batch=2, **offsets(6)))
    assert found(offset_log, run, tmp_path).verdict is PASS


def test_state_that_differs_fails_because_of_the_stream(run, tmp_path):
    run.recomputed["state"] |= {"found": 3, "differ": 1}
    finding = found(state, run, tmp_path)
    assert finding.verdict is FAIL
    assert REASONS["stream"] in finding.reason


@pytest.mark.parametrize(
    ("recomputed", "words"),
    [
        ({"error": "CANNOT_LOAD_STATE_STORE"}, REASONS["unreadable"]),
        ({"found": 3}, REASONS["contradiction"]),
        ({"batch": 0}, REASONS["old_state"]),
        ({"differ": -1}, "below 0"),
        ({"expected": None}, "type int"),
    ],
)
def test_state_that_was_not_read_is_unknown(recomputed, words, run, tmp_path):
    run.recomputed["state"] |= recomputed
    finding = found(state, run, tmp_path)
    assert finding.verdict is UNKNOWN
    assert words in finding.reason


def test_state_that_is_missing_is_unknown(run, tmp_path):
    del run.recomputed["state"]
    assert found(state, run, tmp_path).verdict is UNKNOWN


def test_state_as_it_must_be_passes(run, tmp_path):
    finding = found(state, run, tmp_path)
    assert (finding.verdict, finding.numbers["found"]) == (PASS, 2)
    assert "sink" not in finding.reason


def test_a_pipeline_without_state_is_not_applicable(run, tmp_path):
    run.recomputed = good_recomputed() | {"state": None}
    finding = found(state, run, tmp_path)
    assert (finding.verdict, finding.reason) == (PASS, REASONS["no_state"])


def test_where_the_stream_is_clear_the_sink_made_the_differences(run, tmp_path):
    run.differences["lost"] = 1
    finding = found(state, run, tmp_path)
    assert finding.verdict is PASS
    assert finding.reason.endswith(REASONS["sink"])
