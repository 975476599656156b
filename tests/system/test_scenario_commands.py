"""list, show and explain as their user runs them."""

import pytest
import yaml

from tests.system.command import document, run

pytestmark = pytest.mark.system
CONTROL = "copy_events__append_table__kill_driver"


def test_the_list_is_what_its_schema_says():
    code, found = document("list", "list")
    rows = {row["name"]: row for row in found["scenarios"]}
    assert code == 0
    assert rows[CONTROL] == {
        "name": CONTROL,
        "pipeline": "copy_events",
        "sink": "append_table",
        "family": "append",
        "store": "postgresql",
        "faults": ["kill_driver"],
        "hold_to": "exactly-once",
        "claims": "FAIL",
        "anomalies": ["duplicated"],
        "tags": ["quick", "control", "nightly"],
        "file": "scenarios/append_table.yaml",
    }


def test_the_list_can_be_of_one_tag():
    _, found = document("list", "list", "--tag", "full")
    assert "sliding_counts__upsert_table__kill_driver_full" in [
        row["name"] for row in found["scenarios"]
    ]
    assert all("full" in row["tags"] for row in found["scenarios"])
    code, out, said = run("list", "--tag", "ful")
    assert (code, out) == (3, "")
    assert "unknown tag 'ful'; did you mean 'full'?" in said


def test_a_line_of_the_list_holds_the_whole_name():
    code, out, _ = run("list", COLUMNS="40")
    assert code == 0
    assert f"\n{CONTROL}  " in out


def test_what_is_shown_is_a_scenario_file_again(tmp_path):
    code, out, _ = run("show", CONTROL)
    assert code == 0
    assert yaml.safe_load(out)["workload"]["events"] == 20_000
    (tmp_path / "again.yaml").write_text(out)
    assert run("show", tmp_path / "again.yaml")[1] == out


def test_a_plan_is_explained_without_a_run(tmp_path):
    code, out, _ = run("explain", CONTROL, "--seed", 3, "--subject", "build 7", HOME=str(tmp_path))
    assert code == 0
    for said in (
        f"{CONTROL}, seed 3 (scenarios/append_table.yaml)",
        "20,000 events of page_views, drawn from seed 3, to a topic with 4 partitions",
        "The code under test is build 7.",
        "kill_driver: kill the driver; trigger: failpoint written of batch 3. Proof: its processes",
        "The sink declares at-least-once; the run is held to exactly-once.",
        "It is claimed: duplicated must appear, and nothing else that is not allowed.",
        "a fault leaves no proof, or strikes when all is committed;",
    ):
        assert said in out
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file_is_refused_with_all_its_mistakes(tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: app_views__upsert_table__calm\npipeline: app_view\nsink: upsert_tabel\n")
    for command in ("show", "explain"):
        code, out, said = run(command, bad)
        assert (code, out) == (3, "")
        assert said.splitlines()[0] == f"onceproof: {bad} has 2 mistakes:"
        assert f"  {bad}:2: pipeline: unknown value 'app_view'; did you mean 'app_views'?" in said
        assert (
            f"  {bad}:3: sink: unknown value 'upsert_tabel'; did you mean 'upsert_table'?" in said
        )


def test_a_name_that_is_none_is_refused():
    code, out, said = run("explain", CONTROL.replace("kill", "kil"))
    assert (code, out) == (3, "")
    assert f"unknown scenario '{CONTROL.replace('kill', 'kil')}'; did you mean" in said
