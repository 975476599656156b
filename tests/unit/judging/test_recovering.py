"""How a run came back after a fault, as numbers from handwritten histories."""

from onceproof.judging.recovery import recoveries
from onceproof.judging.timeline import elapsed
from tests.unit.handwritten_run import STRIKE, HandwrittenRun, did

KILL = STRIKE["actor"]


def measured(run, folder):
    evidence = run.write(folder)
    return recoveries(evidence, elapsed(evidence.history))


def asked(attempt, decided, pause_s=None):
    why = "its process ended"
    return did(
        "restart", "supervisor", attempt=attempt, decided=decided, pause_s=pause_s, reason=why
    )


def test_the_batch_of_the_crash_is_run_again_and_is_the_end_of_the_backlog(tmp_path):
    found = measured(HandwrittenRun(), tmp_path)
    assert found == {
        KILL: {
            "first_commit_s": 2.0,
            "caught_up_s": 2.0,
            "reprocessed": 3,
            "reader_gap_s": 5.5,
            "restarts": [],
        }
    }


def test_a_decision_of_the_restart_strategy_belongs_to_the_fault_before_it(tmp_path):
    run = HandwrittenRun()
    place = run.history.index(STRIKE) + 2
    run.history.insert(place, asked(1, "start", 0.5))
    [restart] = measured(run, tmp_path)[KILL]["restarts"]
    assert restart == {
        "attempt": 1,
        "reason": "its process ended",
        "said": None,
        "decided": "start",
        "pause_s": 0.5,
        "at_s": 1.0,
    }


def test_a_batch_that_leaves_a_backlog_has_not_caught_up(tmp_path):
    run = HandwrittenRun()
    run.history.remove(STRIKE)
    run.history.insert(4, STRIKE)
    found = measured(run, tmp_path)[KILL]
    assert found["first_commit_s"] < found["caught_up_s"]


def test_a_commit_that_was_taken_away_makes_its_batch_count_as_run_again(tmp_path):
    run = HandwrittenRun()
    again = did("batch.commit", "archiver", batch=0)
    place = next(at for at, one in enumerate(run.history) if one.get("attempt") == 2) + 1
    run.history.insert(place, again)
    assert measured(run, tmp_path)[KILL]["reprocessed"] == 6


def test_what_nothing_was_committed_after_has_no_recovery(tmp_path):
    run = HandwrittenRun()
    run.history = [
        one for one in run.history if (one["op"], one.get("batch")) != ("batch.commit", 1)
    ]
    found = measured(run, tmp_path)[KILL]
    assert (found["first_commit_s"], found["caught_up_s"]) == (None, None)
