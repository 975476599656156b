"""The judge phase on whole directories; most tests try to get PASS on bad evidence."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from onceproof.cli import carry_out as command_line
from onceproof.guarantee import Anomaly
from onceproof.judging.checkers import CHECKERS
from onceproof.phases import judge
from onceproof.phases.judge import judge_run
from onceproof.verdict import Grade
from tests.unit.handwritten_run import STRIKE, HandwrittenRun, control, did, plan, saw

PASS, UNKNOWN, FAIL = Grade
SCHEMA = json.loads((Path(__file__).parents[3] / "docs/schemas/verdict.json").read_text())


@pytest.fixture
def run():
    return HandwrittenRun()


def judged(folder):
    """Judge a folder, and check the written document by the verdict and the schema."""
    verdict = judge_run(folder)
    document = json.loads((folder / "verdict.json").read_text())
    Draft202012Validator(SCHEMA).validate(document)
    assert document["verdict"] == verdict.grade
    assert document["as_claimed"] == verdict.as_claimed
    assert (folder / "report.html").stat().st_size > 1000
    assert (folder / "junit.xml").exists()
    return verdict, document


def grade_of(run, folder):
    run.write(folder)
    return judged(folder)[0].grade


def test_a_good_run_passes_and_every_checker_has_its_finding(run, tmp_path):
    run.write(tmp_path)
    verdict, document = judged(tmp_path)
    assert (verdict.grade, verdict.exit_code) == (PASS, 0)
    assert [f["checker"] for f in document["findings"]] == [c.__name__ for c in CHECKERS]
    assert document["differences"] == dict.fromkeys(Anomaly, 0)
    assert document["counts"] == {
        "offered": 6, "acknowledged": 6, "committed": 6, "expected": 6, "observed": 6, "late": None
    }  # fmt: skip


def test_an_empty_directory_is_unknown(tmp_path):
    verdict, document = judged(tmp_path)
    assert (verdict.grade, verdict.exit_code) == (UNKNOWN, 2)
    assert document["claims"] is None
    assert not any(finding["verdict"] == PASS for finding in document["findings"])


EVIDENCE = [
    "plan.json", "history.jsonl", "reads", "ledger", "expected", "observed", "differences",
    "differences/summary.json", "reads/part-0.parquet", "ledger/part-0.parquet",
    "expected/part-0.parquet", "observed/part-0.parquet", "recomputed.json", "validation.json",
    "checkpoint", "checkpoint-log", "checkpoint-log/offsets/0", "checkpoint-log/offsets/1",
    "checkpoint-log/commits/1", "checkpoint/offsets/1", "checkpoint/metadata",
]  # fmt: skip


@pytest.mark.parametrize("name", EVIDENCE)
def test_missing_evidence_is_unknown(name, run, tmp_path):
    run.write(tmp_path)
    gone = tmp_path / name
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    assert judged(tmp_path)[0].grade is UNKNOWN


def test_broken_evidence_has_a_reason_and_no_traceback(run, tmp_path):
    run.write(tmp_path)
    validation = json.loads((tmp_path / "validation.json").read_text())
    for one in _expectations(validation):
        one["anomaly"] = "gone astray"
    (tmp_path / "validation.json").write_text(json.dumps(validation))
    (tmp_path / "observed/part-0.parquet").write_bytes(b"PAR1 and no more")
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        for one in record.get("proof", {}).get("dead", []):
            one.pop("pid", None)
    text = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "history.jsonl").write_text(text)
    verdict, _ = judged(tmp_path)
    reasons = " ".join(finding.reason for finding in verdict.findings)
    assert verdict.grade is UNKNOWN
    assert "'gone astray'" in reasons
    assert "by pid and start time" in reasons
    assert "Traceback" not in reasons


def _expectations(value):
    """Return every expectation in a document, at any depth."""
    if isinstance(value, list):
        return [one for item in value for one in _expectations(item)]
    if not isinstance(value, dict):
        return []
    own = [value] if "anomaly" in value else []
    return own + [one for item in value.values() for one in _expectations(item)]


THOROUGH = pytest.mark.thorough
FILES = [name for name in EVIDENCE if "." in name]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0, *(pytest.param(one, marks=THOROUGH) for one in (0.3, 0.9))])
def test_truncated_evidence_is_unknown(name, share, run, tmp_path):
    run.write(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(len(whole) * share)])
    assert judged(tmp_path)[0].grade is UNKNOWN


@pytest.mark.parametrize("name", FILES)
def test_evidence_of_another_format_is_unknown(name, run, tmp_path):
    run.write(tmp_path)
    (tmp_path / name).write_bytes(b"\x00\xff\x00")
    assert judged(tmp_path)[0].grade is UNKNOWN


@THOROUGH
@pytest.mark.parametrize("at", range(19))
def test_without_any_one_record_the_verdict_is_unknown(at, run, tmp_path):
    gone = run.history.pop(at)
    harmless = gone["op"] == "input.progress"
    assert grade_of(run, tmp_path) is (PASS if harmless else UNKNOWN)


@THOROUGH
@given(st.data())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_line_of_the_history_that_is_damaged_is_never_green(tmp_path, data):
    HandwrittenRun().write(tmp_path)
    path = tmp_path / "history.jsonl"
    raw = bytearray(path.read_bytes())
    ends = [at for at, byte in enumerate(raw) if byte == 10]
    raw[data.draw(st.sampled_from(ends))] = data.draw(st.sampled_from(b' x{"\x00'))
    path.write_bytes(raw)
    assert judged(tmp_path)[0].grade is UNKNOWN


def test_a_doubled_history_is_unknown(run, tmp_path):
    run.write(tmp_path)
    path = tmp_path / "history.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    assert judged(tmp_path)[0].grade is UNKNOWN


def test_a_planned_fault_without_a_record_is_unknown(run, tmp_path):
    cut = {"name": "cut", "verb": "cut", "target": "broker:1", "trigger": ""}
    run.plan["faults"] = [*run.plan["faults"], cut]
    assert grade_of(run, tmp_path) is UNKNOWN


def test_a_fault_struck_too_late_is_unknown_for_any_clocks(run, tmp_path):
    run.history.remove(STRIKE)
    run.history.insert(-2, STRIKE)
    late = len(run.history) - 2
    run.clocks = lambda seq: (1.0, 5.0) if seq == late else (100.0 + seq, 1.7e9 + seq)
    assert grade_of(run, tmp_path) is UNKNOWN


def test_clocks_that_run_backwards_decide_nothing_and_time_nothing_below_zero(run, tmp_path):
    run.clocks = lambda seq: (1000.0 - seq, 1.7e9 - seq)
    run.write(tmp_path)
    verdict, document = judged(tmp_path)
    assert verdict.grade is PASS
    assert document["timings"]["recovery"] == {"kill_driver": 0.0}


@pytest.mark.parametrize(
    "changes",
    [
        {"claims": "UNKNOWN"},
        {"claims": "pass"},
        {"claims": None},
        {"hold_to": "exactly_once"},
        {"claims": "FAIL"},
        {"anomalies": ["lost"]},
        {"anomalies": [{}]},
        {"anomalies": "lost"},
        {"faults": [{"name": "kill_driver"}]},
        {"faults": ["kill_driver"]},
        {"faults": plan()["faults"] * 2},
        {"queries": None},
        {"queries": []},
        {"ordered": "no"},
        {"writes": "both"},
        {"seed": True},
    ],
)
def test_an_invalid_plan_is_unknown(changes, run, tmp_path):
    run.plan = plan(**changes)
    run.write(tmp_path)
    verdict, document = judged(tmp_path)
    assert (verdict.grade, verdict.exit_code) == (UNKNOWN, 2)
    assert document["hold_to"] is None


def test_lost_rows_fail_without_a_history_too(run, tmp_path):
    run.differences["lost"], run.observed = 1, 5
    run.write(tmp_path)
    (tmp_path / "history.jsonl").unlink()
    verdict, _ = judged(tmp_path)
    assert (verdict.grade, verdict.exit_code) == (FAIL, 1)


def test_an_observed_row_that_was_not_compared_is_unknown(run, tmp_path):
    run.write(tmp_path)
    shutil.copy(tmp_path / "observed/part-0.parquet", tmp_path / "observed/part-1.parquet")
    assert judged(tmp_path)[0].grade is UNKNOWN


def doubled(run):
    run.differences["duplicated"], run.observed = 3, 9
    run.samples = [{"class": "duplicated", "key": {"k": "d"}, "batch": 1, "topic": "events"}]
    for record in run.history:
        if record["op"] == "read":
            record["proof"]["rows"] = 9
        if record["proof"].get("poll") == 2:
            record["proof"]["rows"] = 3
    run.reads += [saw(2, key, batch=1) for key in "def"]
    return run


def test_a_control_that_doubles_its_rows_is_as_claimed(run, tmp_path):
    run.plan = control("duplicated")
    doubled(run).write(tmp_path)
    verdict, document = judged(tmp_path)
    assert document["reasons"] == ["3 rows duplicated: not allowed under exactly-once"]
    assert (verdict.grade, verdict.exit_code) == (FAIL, 0)


def test_blame_names_the_attempts_the_step_and_the_fault(run, tmp_path):
    doubled(run).write(tmp_path)
    [blame] = judged(tmp_path)[1]["blame"]
    assert (blame["class"], blame["step"], blame["fault"]) == (
        "duplicated", "decided", "kill_driver"
    )  # fmt: skip
    assert blame["sentence"] == (
        "Batch 1 was applied twice: by attempt 1 before kill_driver at decided,"
        " by attempt 2 after it"
    )


def test_blame_names_the_zombie_that_wrote_a_row_once_more(run, tmp_path):
    run.plan = control("duplicated", "zombie", family="append", writes="append", versioned=False)
    run.samples = [{"class": "duplicated", "batch": 1, "attempt": 2, "key": {"id": "d"}}]
    run.differences["duplicated"], run.observed = 1, 7
    run.history[-2:] = [
        did("poll", "reader", poll=4, rows=1),
        *(did("read", "observe", rows=7, digest="d2") for _ in range(2)),
    ]
    run.reads.append(saw(4, "d", 2, batch=1, attempt=2))
    run.write(tmp_path)
    verdict, document = judged(tmp_path)
    assert verdict.as_claimed
    assert document["blame"][0]["sentence"] == (
        "Of the rows of batch 1, attempt 2 wrote 1 as a zombie: after the batch was committed or"
        " the attempt was replaced: kill_driver at decided"
    )


def test_blame_has_no_sentence_without_a_record(run, tmp_path):
    run.samples = [{"class": "lost", "batch": 0}, {"class": "lost", "batch": 9}, {"class": "lost"}]
    run.differences["lost"], run.observed = 3, 3
    run.write(tmp_path)
    found = judged(tmp_path)[1]["blame"]
    assert [(one["batch"], one["fault"], one["sentence"]) for one in found] == [
        (0, None, ""), (9, None, ""), (None, None, "")
    ]  # fmt: skip


def test_a_lost_row_is_blamed_on_the_fault_in_its_batch_also_without_reads(run, tmp_path):
    run.samples, run.reads = [{"class": "lost", "batch": 1}], None
    run.differences["lost"], run.observed = 1, 5
    run.write(tmp_path)
    [blame] = judged(tmp_path)[1]["blame"]
    assert blame["sentence"] == "Batch 1 was in progress when kill_driver struck at decided"


def test_a_lost_row_is_blamed_on_the_reason_in_the_sinks_recovery(run, tmp_path):
    run.samples, run.reads = [{"class": "lost", "batch": 1}], None
    run.differences["lost"], run.observed = 1, 5
    recovered = next(one for one in run.history if one["op"] == "sink.recover")
    recovered["proof"] = {"lost": [{"batch": 1, "why": "its time-out had passed"}]}
    run.write(tmp_path)
    [blame] = judged(tmp_path)[1]["blame"]
    assert blame["sentence"] == "its time-out had passed"


def test_a_transaction_that_is_open_at_the_end_is_blamed_by_its_name(run, tmp_path):
    look = next(one for one in run.history if one["op"] == "sink.open")
    look["proof"] = {"open": 1, "hidden": 5, "names": ["onceproof:orders:main:1:1:3:0:7"]}
    run.write(tmp_path)
    document = judged(tmp_path)[1]
    (blamed,) = [one for one in document["blame"] if one["class"] == "stuck"]
    assert blamed["sentence"].startswith("onceproof:orders:main:1:1:3:0:7 is open")


def test_a_fault_is_healed_by_its_own_cure_after_it_struck(run, tmp_path):
    heal, other = did("fault.heal", "kill_driver"), did("fault.heal", "other")
    run.history[0:0] = [heal]
    run.history += [other, heal]
    run.write(tmp_path)
    document = judged(tmp_path)[1]
    assert document["faults"][0]["healed_at"] == "2023-11-14T22:13:31.000+00:00"
    assert document["timeline"]["faults"] == [
        {"name": "kill_driver", "struck": 4.0, "healed": 10.5, "recovered": 6.0, "caught_up": 6.0}
    ]


def test_a_control_whose_fault_never_struck_is_not_as_claimed(run, tmp_path):
    run.plan = control("duplicated")
    doubled(run).history.remove(STRIKE)
    run.write(tmp_path)
    verdict, _ = judged(tmp_path)
    assert (verdict.grade, verdict.exit_code) == (FAIL, 2)


def test_a_control_over_a_good_run_is_not_as_claimed(run, tmp_path):
    run.plan = control("duplicated")
    run.write(tmp_path)
    verdict, _ = judged(tmp_path)
    assert (verdict.grade, verdict.exit_code) == (PASS, 1)


def test_a_part_of_the_document_that_raises_is_unknown(run, tmp_path):
    run.clocks = lambda seq: (float(seq), 1e300)
    run.write(tmp_path)
    verdict, document = judged(tmp_path)
    raised = [f for f in document["findings"] if "traceback" in f]
    assert verdict.grade is UNKNOWN
    assert [f["reason"] for f in raised] == [
        "The report's faults raised OverflowError: timestamp out of range for platform time_t"
    ]


def test_numbers_beyond_all_counts_are_unknown_and_no_crash(run, tmp_path):
    run.history[2] = did("input.topics", topics={"n": 10**400})
    run.differences["late"] = 0
    run.history[4]["batch"] = 2**62
    assert grade_of(run, tmp_path) is UNKNOWN


def test_an_older_verdict_does_not_outlive_a_judge_that_crashes(run, tmp_path, monkeypatch):
    run.write(tmp_path)
    judge_run(tmp_path)
    monkeypatch.setattr(judge, "run_checkers", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judge_run(tmp_path)
    assert not (tmp_path / "verdict.json").exists()
    assert not (tmp_path / "report.html").exists()


def test_judging_twice_gives_the_same_document(run, tmp_path):
    run.write(tmp_path)
    assert judged(tmp_path)[1] == judged(tmp_path)[1]


@pytest.mark.parametrize(("spoil", "code"), [(None, 0), ("lost", 1), ("history", 2)])
def test_the_command_prints_the_document_and_exits_by_the_verdict(
    spoil, code, run, tmp_path, capsys
):
    run.differences["lost"] = int(spoil == "lost")
    run.write(tmp_path)
    if spoil == "history":
        (tmp_path / "history.jsonl").unlink()
    assert command_line(["judge", str(tmp_path), "--json"]) == code
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "verdict.json").read_text())
    Draft202012Validator(SCHEMA).validate(printed)


def test_a_missing_directory_is_refused(tmp_path, capsys):
    assert command_line(["judge", str(tmp_path / "none")]) == 3
    assert f"{tmp_path / 'none'} is not" in capsys.readouterr().err


def test_a_directory_of_no_run_is_refused_and_not_changed(tmp_path, capsys):
    (tmp_path / "junit.xml").write_text("mine")
    assert command_line(["judge", str(tmp_path)]) == 3
    assert "junit.xml" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_blame_is_inferred_for_rows_without_batch_and_attempt(run, tmp_path):
    run.samples = [{"class": "duplicated", "batch": 1, "by": "input", "key": {"id": "a"}}]
    run.differences["duplicated"], run.observed = 1, 7
    for row in run.reads:
        row["key"], row["batch"], row["attempt"] = '["b"]', None, None
    run.reads[0]["key"] = run.reads[-1]["key"] = '["a"]'
    run.write(tmp_path)
    [blame] = judged(tmp_path)[1]["blame"]
    assert blame["inferred"]
    assert blame["sentence"] == (
        "Batch 1 was applied twice: by attempt 1 before kill_driver at decided, by attempt 2 after"
        " it (inferred from the input: the rows have no batch number)"
    )


def test_an_unread_record_is_blamed_on_the_query_that_started_after_it(run, tmp_path):
    run.samples = [{"class": "lost", "batch": 0, "by": "unread", "key": {"id": "a"}}]
    run.differences["lost"], run.observed = 1, 5
    run.write(tmp_path)
    [blame] = judged(tmp_path)[1]["blame"]
    assert blame["sentence"] == (
        "No batch has read it: batch 0 is the first of a query that began after it; for a job that"
        " starts at the latest offsets, write starting: latest"
    )
