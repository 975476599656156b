"""The commands list, show and explain, run as a user runs them."""

import pytest
import yaml

from tests.system.command import document, run

pytestmark = pytest.mark.system
CONTROL = "copy_events__append_table__kill_driver"


def test_the_list_is_valid_by_its_schema():
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
    code, out, printed = run("list", "--tag", "ful")
    assert (code, out) == (3, "")
    assert "unknown tag 'ful'; did you mean 'full'?" in printed


def test_a_line_of_the_list_has_the_whole_name():
    code, out, _ = run("list", COLUMNS="40")
    assert code == 0
    assert f"\n{CONTROL}  " in out


def test_the_output_of_show_is_a_scenario_file(tmp_path):
    code, out, _ = run("show", CONTROL)
    assert code == 0
    assert yaml.safe_load(out)["workload"]["events"] == 20_000
    (tmp_path / "shown.yaml").write_text(out)
    assert run("show", tmp_path / "shown.yaml")[1] == out


def test_a_plan_is_explained_without_a_run(tmp_path):
    code, out, _ = run("explain", CONTROL, "--seed", 3, "--subject", "build 7", HOME=str(tmp_path))
    assert code == 0
    for printed in (
        f"{CONTROL}, seed 3 (scenarios/append_table.yaml)",
        "20,000 events of page_views, drawn from seed 3, to a topic with 4 partitions",
        "The code under test is build 7.",
        "kill_driver: kill the driver; trigger: failpoint written of batch 3. Proof: its processes",
        "The sink declares at-least-once; the run is held to exactly-once.",
        "It is claimed: duplicated must appear, and no other class that is not allowed.",
        "a fault has no proof, or strikes when all input is committed;",
    ):
        assert printed in out
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file_is_refused_with_all_its_mistakes(tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: app_views__upsert_table__calm\npipeline: app_view\nsink: upsert_tabel\n")
    for command in ("show", "explain"):
        code, out, printed = run(command, bad)
        assert (code, out) == (3, "")
        assert printed.splitlines()[0] == f"onceproof: {bad} has 2 mistakes:"
        assert (
            f"  {bad}:2: pipeline: unknown value 'app_view'; did you mean 'app_views'?" in printed
        )
        assert (
            f"  {bad}:3: sink: unknown value 'upsert_tabel'; did you mean 'upsert_table'?"
            in printed
        )


def test_an_unknown_name_is_refused():
    code, out, printed = run("explain", CONTROL.replace("kill", "kil"))
    assert (code, out) == (3, "")
    assert f"unknown scenario '{CONTROL.replace('kill', 'kil')}'; did you mean" in printed
