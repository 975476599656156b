"""From a judged run's directory to its row, and what of it is in the digest."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from onceproof.digests import file_digest
from onceproof.errors import EvidenceError
from onceproof.gates.verification import trouble_of
from onceproof.judging.checkers import run_checkers
from onceproof.judging.document import parts
from onceproof.past.entry import evidence_digest
from onceproof.past.record import entry_of, history_of, record_run, update_verdict
from onceproof.past.store import open_store
from onceproof.phases.judge import judge_run
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence, or_none
from onceproof.runs.history import History
from onceproof.runs.records import Op
from tests.unit.example_runs import green, red
from tests.unit.example_runs import unknown as unknown_run
from tests.unit.handwritten_run import HandwrittenRun, did, plan

CHANGED = {"lost": 0, "duplicated": 0, "unexpected": 0, "changed": 2}


@pytest.fixture(autouse=True)
def no_history_of_the_machine(monkeypatch):
    monkeypatch.delenv("ONCEPROOF_HISTORY", raising=False)


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def judged(runs, run=None, name="run_1", **changes):
    """A run that was lived and judged."""
    run = run or HandwrittenRun(plan=plan(run=name, subject="v1", **changes))
    folder = runs / "window_totals" / name
    run.write(folder)
    judge_run(folder)
    return RunDirectory(folder)


def test_the_row_of_a_good_run_comes_from_its_verdict_document(runs):
    found = entry_of(judged(runs, night="2026-03-10", tags=["quick"]))
    assert (found.run, found.scenario) == ("run_1", "window_totals__two_phase_table__kill_driver")
    assert (found.seed, found.subject, found.night, found.tags) == (
        7,
        "v1",
        "2026-03-10",
        ("quick",),
    )
    assert (found.verdict, found.claims, found.as_claimed) == ("PASS", "PASS", True)
    assert (found.faults, found.landed, found.is_proved) == (1, 1, True)
    assert (found.recovery_s, found.seconds) == (2.0, 9.0)
    assert (found.findings, found.broken, found.hold_to) == ({}, (), "exactly-once")


def test_a_run_is_as_old_as_the_end_of_its_job_however_late_it_was_judged(runs):
    run = judged(runs)
    for op in (Op.PHASE_START, Op.PHASE_END):
        History(run.history).append("release", op)  # as of now, and so is what judges it
    judge_run(run.root)
    assert entry_of(run).at == datetime.fromtimestamp(1.7e9 + 13 / 2, UTC)


def test_a_sink_that_is_read_once_more_makes_no_run_younger(runs):
    run = judged(runs)
    History(run.history).append("observe", Op.READ, proof={"rows": 6, "digest": "d1"})
    judge_run(run.root)
    assert entry_of(run).at == datetime.fromtimestamp(1.7e9 + 13 / 2, UTC)


def test_a_run_whose_job_never_ended_is_as_old_as_its_beginning(runs):
    run = judged(runs, HandwrittenRun(plan(), [did("phase.start", "plan"), did("phase.end")]))
    assert entry_of(run).at == datetime.fromtimestamp(1.7e9 + 1 / 2, UTC)


def test_a_run_without_a_history_is_unknown_and_of_now(runs):
    run = judged(runs)
    run.history.unlink()
    judge_run(run.root)
    found = entry_of(run)
    assert found.verdict == "UNKNOWN"
    assert timedelta() <= datetime.now(UTC) - found.at < timedelta(minutes=1)


@pytest.mark.parametrize(("sound", "bad"), [('"op"', '"OP"'), ('"wall": ', '"wall": 999999')])
def test_a_good_run_with_an_unknown_age_is_not_recorded(sound, bad, runs):
    run = judged(runs)
    run.history.write_text(run.history.read_text().replace(sound, bad))
    with pytest.raises(EvidenceError, match="history"):
        record_run(run, runs)


def test_judging_again_makes_no_run_younger(runs):
    run = judged(runs)
    first = record_run(run, runs)
    judge_run(run.root)
    assert update_verdict(run, runs).at == first.at == datetime.fromtimestamp(1.7e9 + 13 / 2, UTC)


def test_a_red_run_has_the_classes_that_broke_its_promise(runs):
    found = entry_of(judged(runs, red()))
    assert (found.verdict, found.as_claimed, found.is_proved) == ("FAIL", False, False)
    assert found.broken == ("lost", "duplicated")
    assert found.findings == {"rows": "FAIL", "expectations": "FAIL"}
    assert found.differences["duplicated"] == 25


def test_a_fault_that_did_not_land_is_counted_as_planned_only(runs):
    found = entry_of(judged(runs, unknown_run()))
    assert (found.verdict, found.faults, found.landed) == ("UNKNOWN", 1, 0)
    assert found.is_unknown


def test_the_longest_recovery_counts(runs):
    document = json.loads(judged(runs, green()).verdict.read_text())
    longest = max(document["timings"]["recovery"].values())
    assert entry_of(RunDirectory(runs / "window_totals/run_1")).recovery_s == longest


def test_a_run_without_a_readable_plan_has_the_name_of_its_directory(runs):
    run = judged(runs)
    run.plan.write_text("{")
    judge_run(run.root)
    found = record_run(run, runs)
    assert (found.run, found.scenario, found.seed) == ("window_totals/run_1", "", None)
    assert found.verdict == "UNKNOWN"


def test_what_no_database_takes_is_shown_as_a_question_mark(runs):
    found = record_run(judged(runs, night="a\0b\ud800"), runs)
    assert found.night == "a?b?"


def test_tags_that_are_none_are_no_tags(runs):
    assert record_run(judged(runs, tags=5), runs).tags == ()


def test_a_run_that_was_not_judged_is_not_recorded(runs):
    run = judged(runs)
    run.verdict.unlink()
    with pytest.raises(EvidenceError, match=r"verdict\.json"):
        record_run(run, runs)


def test_the_history_is_beside_the_runs_or_at_the_address_in_the_environment(runs, monkeypatch):
    assert history_of(runs) == str(runs / "history.sqlite")
    monkeypatch.setenv("ONCEPROOF_HISTORY", "elsewhere.sqlite")
    assert history_of(runs) == "elsewhere.sqlite"


def test_another_run_in_the_same_directory_has_a_row_of_its_own(runs):
    run = judged(runs, red())
    first = record_run(run, runs)
    shutil.rmtree(run.root)
    judged(runs)
    again = record_run(run, runs)
    assert first.run != again.run  # the plan is another's, and so is the row
    assert open_store(history_of(runs)).find(first.run).verdict == "FAIL"


def test_a_verdict_on_altered_evidence_is_not_good_when_the_evidence_is_put_back(runs):
    run = judged(runs, HandwrittenRun(plan(run="run_1"), differences=CHANGED))
    first = record_run(run, runs)
    texts = {path: path.read_text() for path in (run.summary, run.validation, run.history)}
    HandwrittenRun(plan(run="run_1")).write(run.root)
    assert judge_run(run.root).as_claimed
    assert update_verdict(run, runs) == first
    for path, text in texts.items():
        path.write_text(text)
    assert evidence_digest(run) == first.evidence
    assert trouble_of(first) == "Its verdict.json is not the recorded one"
    judge_run(run.root)
    assert (update_verdict(run, runs).verdict, first.verdict) == ("FAIL", "FAIL")


def test_judging_the_same_evidence_again_is_recorded(runs):
    run = judged(runs)
    first = record_run(run, runs)
    run.verdict.write_text(run.verdict.read_text().replace('"PASS"', '"UNKNOWN"', 1))
    again = update_verdict(run, runs)
    assert (again.at, again.evidence) == (first.at, first.evidence)
    assert (again.verdict, again.verdict_digest) == ("UNKNOWN", file_digest(run.verdict))


def test_a_run_that_was_not_recorded_stays_out_of_the_history_when_judged_again(runs):
    run = judged(runs)
    assert update_verdict(run, runs) is None
    assert not (runs / "history.sqlite").exists()
    other = record_run(judged(runs, name="run_2"), runs)
    assert update_verdict(run, runs) is None
    assert open_store(history_of(runs)).entries() == [replace(other)]


def test_the_digest_is_of_names_and_contents(runs):
    run = judged(runs)
    first = evidence_digest(run)
    assert evidence_digest(run) == first
    part = run.ledger / "part-0.parquet"
    part.rename(run.ledger / "part-1.parquet")
    assert evidence_digest(run) != first
    (run.ledger / "part-1.parquet").rename(part)
    assert evidence_digest(run) == first
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    assert evidence_digest(run) != first


def test_judging_again_and_logs_leave_the_digest_as_it_is(runs):
    run = judged(runs)
    first = evidence_digest(run)
    judge_run(run.root)
    run.logs.mkdir()
    (run.logs / "driver-1.log").write_text("words")
    (run.checkpoint / "state").mkdir()
    (run.checkpoint / "state" / "1.delta").write_text("a state")
    assert evidence_digest(run) == first


@pytest.mark.thorough
def test_no_file_that_the_verdict_rests_on_is_outside_of_the_digest(runs):
    """Each file is taken away; what changes the findings must change the digest."""
    run = judged(runs)
    before, digest = contents(run), evidence_digest(run)
    unseen = []
    for path in sorted(path for path in run.root.rglob("*") if path.is_file()):
        content = path.read_bytes()
        path.unlink()
        if contents(run) != before and evidence_digest(run) == digest:
            unseen.append(path.relative_to(run.root))
        path.write_bytes(content)
    assert unseen == []


def contents(run):
    evidence = Evidence(run)
    return run_checkers(evidence), or_none(lambda: evidence.plan), parts(evidence)
