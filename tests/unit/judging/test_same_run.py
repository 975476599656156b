"""All parts of the evidence are of one run: what is swapped, cut or weakened is never green."""

import json
import shutil

import pytest

from onceproof.errors import EvidenceError
from onceproof.judging.checkers.input_kept import input_kept
from onceproof.judging.checkers.log_recorded import log_recorded
from onceproof.judging.checkers.phases import phases
from onceproof.judging.checkers.reads import reads
from onceproof.judging.checkers.rows import rows
from onceproof.judging.checkers.same_run import same_run
from onceproof.phases.judge import judge_run
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence
from onceproof.runs.parts import OLDER, USED
from onceproof.verdict import Grade
from tests.plans import input_of, output_of
from tests.unit.handwritten_run import READS, HandwrittenRun, did, plan, write_rows

REASONS = {
    "too_many": "recomputed.json counts 20,001 acknowledged records, but the ledger has 6",
    "other_rows": "The last poll saw other rows than observed/ has",
    "other_read": "observed/ does not have the rows of the last read",
    "other_summary": "summary.json is of the run another_8, but the plan is of window_totals_7",
    "other_phase": "compare was a phase of the run another_8",
    "of_other_run": "is of the run another_8",
    "other_expected": "was made from another 'expected' than is in the run",
    "half_ledger": "The plan has 12 events, but the ledger has 6",
    "changed_plan": "'plan' is not the one recorded by prepare, produce, process",
    "queries": "The history has 1 queries, the archive 2",
    "no_poll": "No poll began between the strike of kill_driver and the end of the last attempt",
    "expired": "events-0 begins at offset 2: its earlier records have expired",
    "no_values": "the values nothing were compared, but the plan's reference has value, version",
    "one_value": "the values value were compared,",
    "no_key": "compared by nothing, but the key of the plan's reference is key",
    "longer_key": "compared by key, value",
    "ignored": "the comparison ignored value",
    "tolerance": "allowed a tolerance on version",
    "other_offsets": "offsets/0 in the archive is not as the history recorded it",
    "other_commit": "commits/0 in the archive is not as the history recorded it",
}

PASS, UNKNOWN = Grade.PASS, Grade.UNKNOWN
PARTS = [
    "plan.json", "ledger", "checkpoint-log", "reads", "expected", "observed", "recomputed.json",
    "differences", "validation.json",
]  # fmt: skip


@pytest.fixture
def run():
    return HandwrittenRun()


def alter(path, **changes):
    """Change fields of a document; a change of None removes one."""
    found = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: one for name, one in found.items() if one is not None}))


def reason(evidence):
    found = same_run(evidence)
    assert found.verdict is UNKNOWN
    return found.reason


def test_a_whole_run_is_one(run, tmp_path):
    found = same_run(run.write(tmp_path))
    assert (found.verdict, found.numbers["phases"]) == (PASS, len(USED))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_another_run_is_seen(part, run, tmp_path):
    run.write(tmp_path / "one")
    other = HandwrittenRun(plan(run="another_8"))
    other.ledger.append(6)
    other.observed = other.expected = 7
    other.history[3]["proof"]["offsets"]["events"]["0"] = 2
    other.reads[0]["value"] = "b=9"
    other.write(tmp_path / "other")
    there = tmp_path / "one" / part
    shutil.rmtree(there) if there.is_dir() else there.unlink()
    (tmp_path / "other" / part).rename(there)
    said = reason(Evidence(RunDirectory(tmp_path / "one")))
    assert f"{part.removesuffix('.json')!r} is not the one recorded" in said


def test_rows_and_their_comparison_of_another_run_are_no_pass(run, tmp_path):
    run.write(tmp_path / "one")
    run.plan["run"] = "another_8"
    run.reads[0]["value"] = "a=9"
    run.write(tmp_path / "other")
    for name in ("expected", "observed", "differences"):
        shutil.rmtree(tmp_path / "one" / name)
        (tmp_path / "other" / name).rename(tmp_path / "one" / name)
    verdict = judge_run(tmp_path / "one")
    assert verdict.grade is UNKNOWN
    said = reason(Evidence(RunDirectory(tmp_path / "one")))
    assert REASONS["other_summary"] in said


def test_a_phase_of_another_run_is_seen(run, tmp_path):
    run.history.append(did("phase.end", "compare", run="another_8"))
    assert REASONS["other_phase"] in reason(run.write(tmp_path))


@pytest.mark.parametrize("name", ["recomputed.json", "differences/summary.json", "validation.json"])
def test_a_document_that_does_not_say_of_what_it_was_made_is_seen(name, run, tmp_path):
    evidence = run.write(tmp_path)
    alter(tmp_path / name, run="another_8", digests={})
    said = reason(evidence)
    assert REASONS["of_other_run"] in said
    assert REASONS["other_expected"] in said


def test_half_a_ledger_is_not_the_plans(run, tmp_path):
    input_of(run.plan)["options"] = {"events": 12}
    assert REASONS["half_ledger"] in reason(run.write(tmp_path))


def test_events_that_were_sent_again_and_a_sentinel_are_no_events_of_the_plan(run, tmp_path):
    run.sentinels = 1
    input_of(run.plan)["options"] = {"events": 5}
    assert same_run(run.write(tmp_path)).verdict is PASS


def test_covered_records_that_contradict_the_ledger_are_seen(run, tmp_path):
    run.recomputed["covered"] = 20_001
    said = REASONS["too_many"]
    assert said in reason(run.write(tmp_path))


@pytest.mark.parametrize("changes", [{"hold_to": "at-most-once"}, {"faults": []}, {"seed": 8}])
def test_a_plan_that_was_weakened_afterwards_is_unknown(changes, run, tmp_path):
    evidence = run.write(tmp_path)
    alter(tmp_path / "plan.json", **changes)
    assert REASONS["changed_plan"] in reason(evidence)
    assert judge_run(tmp_path).grade is UNKNOWN


def test_an_older_run_is_unknown_with_one_sentence_and_its_remedy(run, tmp_path):
    run.is_tied = False
    run.history += [did("phase.end", name) for name in USED]
    run.write(tmp_path)
    document = json.loads((tmp_path / "plan.json").read_text())
    output_of(document)["rows"] = None
    (tmp_path / "plan.json").write_text(json.dumps(document))
    alter(tmp_path / "recomputed.json", run=None, digests=None, schema=1, rests_on_log=None)
    alter(tmp_path / "differences/summary.json", run=None, digests=None)
    verdict = judge_run(tmp_path)
    assert verdict.grade is UNKNOWN
    assert verdict.reasons == (OLDER[:1].upper() + OLDER[1:],)
    assert not any(finding.traceback for finding in verdict.findings)


@pytest.mark.parametrize("name", USED)
def test_a_phase_that_left_no_record_is_unknown(name, run, tmp_path):
    run.is_tied = False
    run.history += [did("phase.end", one) for one in USED if one != name]
    found = phases(run.write(tmp_path))
    assert (found.verdict, f" {name} in the history" in found.reason) == (UNKNOWN, True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"values": []},
            REASONS["no_values"],
        ),
        ({"values": ["value"]}, REASONS["one_value"]),
        ({"key": []}, REASONS["no_key"]),
        ({"key": ["key", "value"], "values": ["version"]}, REASONS["longer_key"]),
        ({"ignored": ["value"]}, REASONS["ignored"]),
        ({"tolerance": {"version": 1e9}}, REASONS["tolerance"]),
    ],
)
def test_a_weaker_comparison_than_planned_proves_nothing(changes, said, run, tmp_path):
    evidence = run.write(tmp_path)
    columns = json.loads(evidence.run.summary.read_text())["columns"]
    alter(evidence.run.summary, columns=columns | changes)
    with pytest.raises(EvidenceError, match=said):
        rows(evidence)


@pytest.mark.parametrize("changes", [{"value": "z"}, {"key": "z"}, {"version": 9}, {"batch": 7}])
def test_a_last_poll_of_other_rows_than_were_read_is_unknown(changes, run, tmp_path):
    evidence = run.write(tmp_path)
    seen = [row | {"key": f'["{row["key"]}"]'} for row in run.reads]
    seen = [row | {"value": json.dumps([row["value"], row["version"]])} for row in seen]
    new = changes | {name: json.dumps([one]) for name, one in changes.items() if name == "key"}
    if "value" in changes:
        new["value"] = json.dumps(["z", 1])
    write_rows(evidence.run.reads, [seen[0] | new, *seen[1:]], READS)
    found = reads(evidence)
    said = REASONS["other_rows"]
    assert (found.verdict, found.reason) == (UNKNOWN, said)


def test_a_digest_that_is_not_of_the_rows_that_were_kept_is_unknown(run, tmp_path):
    evidence = run.write(tmp_path)
    text = evidence.run.history.read_text()
    digest = next(one.proof["digest"] for one in evidence.history if one.op == "read")
    evidence.run.history.write_text(text.replace(digest, "f" * 32))
    found = reads(Evidence(evidence.run))
    said = REASONS["other_read"]
    assert (found.verdict, found.reason) == (UNKNOWN, said)


def test_the_log_agrees_with_the_history(run, tmp_path):
    found = log_recorded(run.write(tmp_path))
    assert (found.verdict, found.numbers) == (PASS, {"batches": 4})


@pytest.mark.parametrize(
    ("at", "proof", "said"),
    [
        (3, {"offsets": {"events": {"0": 2}}}, REASONS["other_offsets"]),
        (3, {"watermark_ms": 5}, REASONS["other_offsets"]),
        (4, {"next_watermark_ms": 5}, REASONS["other_commit"]),
    ],
)
def test_a_record_that_contradicts_the_archived_log_is_unknown(at, proof, said, run, tmp_path):
    evidence = run.write(tmp_path)
    lines = evidence.run.history.read_text().splitlines()
    record = json.loads(lines[at])
    lines[at] = json.dumps(record | {"proof": record["proof"] | proof})
    evidence.run.history.write_text("\n".join(lines) + "\n")
    found = log_recorded(Evidence(evidence.run))
    assert found.verdict is UNKNOWN
    assert said in found.reason


@pytest.mark.parametrize("name", ["offsets/1", "commits/1"])
def test_a_batch_that_only_one_of_history_and_archive_knows_is_unknown(name, run, tmp_path):
    evidence = run.write(tmp_path)
    kept = evidence.run.checkpoint_log / name
    kept.rename(kept.with_name("2"))
    found = log_recorded(evidence)
    assert found.verdict is UNKNOWN
    assert f"{name} is in the history but not in the archive" in found.reason
    assert f"{name[:-1]}2 is in the archive but not in the history" in found.reason


def test_each_query_of_a_checkpoint_that_began_anew_is_held_against_its_own_log(run, tmp_path):
    evidence = run.write(tmp_path)
    archive = evidence.run.checkpoint_log
    (archive / "query-1").mkdir()
    for name in ("offsets", "commits"):
        (archive / name).rename(archive / "query-1" / name)
    assert REASONS["queries"] in log_recorded(evidence).reason
    lines = evidence.run.history.read_text()
    anew = json.loads(lines.splitlines()[-1]) | {"op": "checkpoint.anew", "proof": {}}
    anew["seq"] += 1
    evidence.run.history.write_text(lines + json.dumps(anew) + "\n")
    assert log_recorded(Evidence(evidence.run)).verdict is PASS


def test_a_reader_that_was_blind_from_the_strike_to_the_end_is_unknown(run, tmp_path):
    run.history = [one for one in run.history if one["proof"].get("poll") != 2]
    found = reads(run.write(tmp_path))
    assert found.verdict is UNKNOWN
    assert found.reason == (REASONS["no_poll"])


def test_what_expired_by_plan_is_of_the_topic_of_the_plan(run, tmp_path):
    strike = next(one for one in run.history if one["op"] == "fault.strike")
    strike["proof"]["begins"] = {"0": 2}
    look = [one for one in run.history if one["op"] == "input.topics"][-1]
    look["proof"]["topics"]["events"]["partitions"]["0"]["start"] = 2
    assert input_kept(run.write(tmp_path / "one")).verdict is PASS
    input_of(run.plan)["topic"] = "others"
    found = input_kept(run.write(tmp_path / "other"))
    assert found.reason == REASONS["expired"]


def test_the_texts_of_an_external_reader_are_not_compared(run, tmp_path):
    output_of(run.plan)["sink"] = "theirs:Sink"
    evidence = run.write(tmp_path)
    seen = [row | {"key": f"<{row['key']}>", "value": "as it likes"} for row in run.reads]
    write_rows(evidence.run.reads, seen, READS)
    assert reads(evidence).verdict is PASS


def test_a_job_without_a_commit_after_the_strike_left_nothing_to_see(run, tmp_path):
    run.plan |= {"ends": "failed", "last_words": "boom"}
    strike = next(at for at, one in enumerate(run.history) if one["op"] == "fault.strike")
    end = max(at for at, one in enumerate(run.history) if one["op"] == "attempt.end")
    run.history = [*run.history[: strike + 1], *run.history[end:]]
    assert reads(run.write(tmp_path)).verdict is PASS
