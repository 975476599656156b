"""The plan of a run: made from scenario and seed, complete, in a directory of its own."""

import hashlib
import json
import re
import subprocess
from datetime import UTC, datetime

import pytest

from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.phases.plan import make_plan
from onceproof.phases.replay import plan_replay
from onceproof.phases.subject import find_subject
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan, Writes
from onceproof.scenario import find_scenario, load_catalogue
from onceproof.scenario.commands import default_command, fill, placeholders_in
from onceproof.verdict import Grade
from tests.plans import output_of
from tests.unit.scenario.test_scenarios import JOB, read

NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
CONTROL = "copy_events__append_table__kill_driver"


def plan(run):
    return json.loads(run.plan.read_text())


def make(name, tmp_path, seed=7, **more):
    return make_plan(find_scenario(name), seed, tmp_path, now=NOON, **more)


@pytest.fixture(scope="module")
def own_subject():
    """What is tested is the same for every scenario of ours, and takes 40 ms to find."""
    return find_subject((), {})


@pytest.mark.thorough
@pytest.mark.parametrize("one", load_catalogue(), ids=lambda one: one.name)
def test_the_plan_of_every_scenario_is_work_and_a_claim(one, tmp_path, monkeypatch, own_subject):
    monkeypatch.setattr("onceproof.phases.plan.find_subject", lambda *_: own_subject)
    run = make_plan(one, 7, tmp_path)
    work, claimed = Plan.read(run.plan), Plan.read(run.plan)
    assert (work.scenario, claimed.claim) == (one.name, one.claim)
    assert re.fullmatch(r"[a-z0-9_]{1,60}", work.run)
    assert (work.input.topic, work.output.target) == (f"{work.run}.events", f"{work.run}.output")


def test_a_control_is_planned_as_its_file_says(tmp_path):
    run = make(CONTROL, tmp_path)
    found, document = Plan.read(run.plan), plan(run)
    assert run.root == tmp_path / CONTROL / "20260801T120000-7"
    assert (found.claim.verdict, found.claim.anomalies) == (Grade.FAIL, {"duplicated"})
    assert found.claim.promise.guarantee is Guarantee.EXACTLY_ONCE
    assert document["faults"][0]["trigger"] == "failpoint written of batch 3"
    assert output_of(document)["guarantee"] == "at-least-once"
    assert document["replay"] == f"onceproof run {CONTROL} --seed 7"
    assert document["file"] == "scenarios/append_table.yaml"


def test_the_same_seed_gives_the_same_plan_but_for_its_names(tmp_path):
    one, two = (make(CONTROL, tmp_path / name) for name in ("one", "two"))
    texts = [run.plan.read_text().replace(Plan.read(run.plan).run, "RUN") for run in (one, two)]
    assert texts[0] == texts[1]
    assert Plan.read(one.plan).run != Plan.read(two.plan).run


def test_two_runs_of_one_second_have_a_directory_each(tmp_path):
    one, two = (make(CONTROL, tmp_path) for _ in range(2))
    assert (one.root.name, two.root.name) == ("20260801T120000-7", "20260801T120000-7-2")
    assert Plan.read(one.plan).run != Plan.read(two.plan).run


def test_rows_are_versioned_where_they_replace_each_other_and_have_a_version(tmp_path):
    versioned = {
        name: Plan.read(make(f"{name}__kill_driver", tmp_path).plan).output.versioned
        for name in (
            "app_views__upsert_table",
            "copy_events__upsert_table",
            "app_views__append_table",
        )
    }
    assert [name for name, is_so in versioned.items() if is_so] == ["app_views__upsert_table"]


def test_values_of_runs_stay_placeholders(tmp_path):
    command = plan(make(CONTROL, tmp_path))["jobs"][0]["command"]
    assert command[:3] == ["{python}", "{jobs}/stream.py", "copy_events"]
    assert command[-4:] == ["--set", "state_store=hdfs", "--set", "max_offsets=2000"]
    assert command == list(
        default_command("copy_events", {"state_store": "hdfs", "max_offsets": 2000}, {}, {})
    )


def test_a_users_job_gets_its_options_and_its_folder(tmp_path):
    (tmp_path / "job.py").write_text("print()")
    (tmp_path / "mine.yaml").write_text(JOB)
    run = make(str(tmp_path / "mine.yaml"), tmp_path / "runs")
    document = plan(run)
    assert document["jobs"][0]["command"][1:] == [f"{tmp_path}/job.py", "{topic}", "--window=4 s"]
    assert list(document["subject_files"]) == ["{here}/job.py"]
    replay = f"onceproof run {tmp_path}/mine.yaml::mine__upsert_table__calm --seed 7"
    assert document["replay"] == replay


def test_doubled_brackets_are_brackets_and_no_placeholders():
    assert placeholders_in(['{{"a": {topic}}}', "{}"]) == {"topic", ""}
    assert fill(["{{x}} {a} {topic}"], {"a": "{1}"}) == ("{{x}} {{1}} {topic}",)
    (word,) = fill(["{{x}} {a}"], {"a": "{1}"})
    assert word.format_map({}) == "{x} {1}"
    command = default_command("copy_events", {}, {"like": "{a}"}, {})
    assert command[-2:] == ("--sink-set", "like={{a}}")


def test_a_replay_is_a_new_run_with_the_same_plan(tmp_path):
    first = make(CONTROL, tmp_path, subject="build 7")
    new = plan_replay(first, tmp_path / "new")
    names = [Plan.read(run.plan).run for run in (first, new)]
    texts = [
        run.plan.read_text().replace(name, "RUN")
        for run, name in zip((first, new), names, strict=True)
    ]
    assert texts[0] == texts[1]
    assert names[0] != names[1]


def test_a_replay_keeps_the_sinks_properties_from_the_plan(tmp_path, monkeypatch):
    first = make_plan(find_scenario("app_views__upsert_table__calm"), 7, tmp_path / "runs")
    monkeypatch.setattr("onceproof.sinks.tables.upsert_table.UpsertTable.writes", Writes.APPEND)
    monkeypatch.setattr("onceproof.sinks.tables.upsert_table.UpsertTable.store", "kafka")
    new = plan_replay(first, tmp_path / "new")
    found = Plan.read(new.plan).output
    assert found.store == "postgresql"
    assert found.rows == Plan.read(first.plan).output.rows


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed, tmp_path):
    with pytest.raises(RequestError, match=str(seed)):
        make(CONTROL, tmp_path, seed)
    assert list(tmp_path.iterdir()) == []


def git(folder, *words):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


@pytest.fixture
def job(tmp_path):
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "job.py").write_text("print()")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "jobs")
    git(tmp_path, "commit", "-q", "-m", "one")
    return folder / "job.py"


def subject(job, given=""):
    return find_subject(["python", "{here}/job.py"], {"here": job.parent}, given)


def test_the_subject_is_the_commit_of_the_commands_repository(job):
    found = subject(job)
    assert re.fullmatch(r"git:[0-9a-f]{12}", found.text)
    assert found.files == {"{here}/job.py": hashlib.sha256(b"print()").hexdigest()}


@pytest.mark.parametrize("name", ["job.py", "new.py"])
def test_a_change_in_that_folder_is_dirty(job, name):
    (job.parent / name).write_text("changed")
    assert subject(job).text.endswith("+dirty")


def test_runs_beside_the_job_are_no_change_of_it(job, tmp_path):
    make(CONTROL, tmp_path / "runs")
    (tmp_path / "runs/history.sqlite").write_text("rows")
    assert re.fullmatch(r"git:[0-9a-f]{12}", subject(job).text)


def test_a_folder_that_was_there_is_not_hidden_from_git(job, tmp_path):
    make(CONTROL, tmp_path)
    assert subject(job).text.endswith("+dirty")


def test_a_given_subject_is_used(job):
    assert subject(job, "build 7").text == "build 7"


def test_a_folder_outside_git_has_a_version_by_its_files(job, tmp_path):
    (tmp_path / ".gitignore").write_text("jobs\n")
    git(tmp_path, "rm", "-r", "-q", "--cached", "jobs")
    before = subject(job).text
    assert re.fullmatch(r"sha256:[0-9a-f]{12}", before)
    job.write_text("changed")
    assert subject(job).text != before


def test_a_command_without_files_has_no_version():
    assert find_subject(["run-my-job", "{topic}"], {}).text == "unknown"


def test_a_plan_that_fails_leaves_no_directory(tmp_path, monkeypatch):
    (one,) = read(JOB)
    monkeypatch.setattr("onceproof.phases.plan.deciding_files", _gone)
    with pytest.raises(RequestError, match="gone"):
        make_plan(one, 7, tmp_path)
    assert list(tmp_path.iterdir()) == []


def _gone(name):
    raise RequestError(f"{name} is gone")


def test_a_folder_without_a_plan_cannot_be_replayed(tmp_path):
    with pytest.raises(RequestError, match=r"plan\.json"):
        plan_replay(RunDirectory(tmp_path), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_older_plan_is_replayed_without_obsolete_options(tmp_path):
    first = make_plan(find_scenario("copy_events__append_table__kill_driver"), 7, tmp_path / "runs")
    plan = json.loads(first.plan.read_text())
    command = plan["jobs"][0]["command"]
    output_of(plan)["rows"] = None
    plan["jobs"][0]["command"] = [*command[:3], "--reference", "{reference}", *command[3:]]
    first.plan.write_text(json.dumps(plan))
    new = json.loads(plan_replay(first, tmp_path / "new").plan.read_text())
    assert new["jobs"][0]["command"] == command
    assert output_of(new)["rows"]["compared_by"] == ["id"]
