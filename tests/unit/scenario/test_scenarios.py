"""Scenario files: reading, the catalogue, and their JSON schema."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from onceproof.errors import RequestError
from onceproof.faults.registry import MECHANISMS, all_targets, verbs
from onceproof.faults.triggers import TRIGGERS, kind_of
from onceproof.guarantee import Guarantee
from onceproof.job.needs import libraries_of
from onceproof.machine.home import catalogue_folder
from onceproof.phases.plan import make_plan
from onceproof.runs import restart
from onceproof.runs.plan import Plan
from onceproof.scenario import Scenario, fault_fields, find_scenario, load_catalogue
from onceproof.scenario.catalogue import read_file, read_text
from onceproof.scenario.deciding import deciding_files
from onceproof.scenario.model import fields_of
from onceproof.scenario.schema import file_schema
from onceproof.scenario.sentences import explain
from onceproof.schema.json_schema import text_of
from onceproof.setup.libraries import FASTAVRO

ROOT = Path(__file__).parents[3]
SOUND = """\
name: app_views__upsert_table__kill_driver
pipeline: app_views
sink: upsert_table
workload: {events: 20_000, partitions: 4}
faults:
  - do: kill
    target: driver
    when: {failpoint: written, batch: 3}
"""
JOB = """\
name: mine__upsert_table__calm
pipeline:
  command: [python, "{here}/job.py", "{topic}", "--window={window}"]
  reference: onceproof.references.app_views:REFERENCE
  options: {window: 4 s}
sink: upsert_table
"""


IN_AVRO = """\
name: orders__topic__calm
pipeline:
  command: [python, "{here}/job.py", "{topic}", "{target}"]
  reference: each_once
  key: [order_id]
workload: {name: template, value: {order_id: id}, encoding: {avro: order.avsc, schema_id: 7}}
sink: {name: topic, encoding: {avro: order.avsc, schema_id: 7}}
"""


def read(text):
    return read_text(text, "mine.yaml")


@pytest.fixture
def folder(tmp_path):
    fields = [{"name": "order_id", "type": "long"}]
    schema = {"type": "record", "name": "order", "fields": fields}
    (tmp_path / "order.avsc").write_text(json.dumps(schema))
    return tmp_path


def test_an_encoding_names_a_schema_beside_the_scenario(folder):
    (found,) = read_text(IN_AVRO, "mine.yaml", str(folder))
    wanted = {"avro": f"{folder}/order.avsc", "schema_id": 7}
    assert found.input.options["encoding"] == found.output.options["encoding"] == wanted
    assert FASTAVRO in libraries_of(found)
    assert folder / "order.avsc" in deciding_files(found)
    (plain,) = read(IN_AVRO.replace(", encoding: {avro: order.avsc, schema_id: 7}", ""))
    assert FASTAVRO not in libraries_of(plain)


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ("{name: topic, encoding: avro}", "sink.encoding: invalid value 'avro'; "),
        ("{name: topic, encoding: {schema_id: 7}}", "sink.encoding: avro is missing; write avro"),
        ("{name: append_topic, kafka.acks: {a: 1}}", "sink.kafka.acks: invalid value {...}; use"),
    ],
)
def test_an_option_of_another_kind_is_refused(folder, sink, message):
    text = IN_AVRO.rpartition("sink:")[0] + f"sink: {sink}\n"
    with pytest.raises(RequestError) as refused:
        read_text(text, "mine.yaml", str(folder))
    assert message in str(refused.value)


@pytest.mark.parametrize("sink", ["upsert_table", "append_table"])
def test_beside_a_source_that_forgets_a_run_is_held_to_at_most_once(sink):
    text = SOUND.replace("app_views", "copy_events").replace("upsert_table", sink)
    (found,) = read(f"{text}source: taken_once\n")
    assert found.claim.promise.guarantee is Guarantee.AT_MOST_ONCE
    assert found.job.command[-1] == "source=taken_once"
    assert read(text)[0].claim.promise.guarantee is found.output.guarantee
    (explicit,) = read(f"{text}source: taken_once\nhold_to: exactly-once\n")
    assert explicit.claim.promise.guarantee is Guarantee.EXACTLY_ONCE


def test_a_file_is_one_scenario_with_every_default_filled_in():
    (found,) = read(SOUND)
    assert (found.name, found.job.name) == (
        "app_views__upsert_table__kill_driver",
        "app_views",
    )
    assert found.job.options == {"state_store": "hdfs", "max_offsets": 2000}
    assert found.input.options["keys"] == 100
    assert found.restart == {"strategy": "fixed-delay", "attempts": 3, "delay_s": 0.5}
    assert (found.limits.run_s, found.limits.stall_s) == (300, 60)
    assert found.faults[0].name == "kill_driver"


def test_a_scenario_is_held_to_what_its_sink_declares():
    (upserts,) = read(SOUND)
    (appends,) = read(SOUND.replace("upsert_table", "append_table"))
    assert upserts.claim.promise.guarantee is Guarantee.EXACTLY_ONCE
    assert appends.claim.promise.guarantee is Guarantee.AT_LEAST_ONCE


def test_scenarios_of_a_file_share_its_defaults_and_replace_them_one_by_one():
    one, two = read(
        "defaults: {pipeline: copy_events, sink: append_table, workload: {events: 50, late: 0.5}}\n"
        "scenarios:\n"
        "  - {name: copy_events__append_table__calm}\n"
        "  - {name: copy_events__append_table__calm_late, workload: {late: 0.1}, tags: [quick]}\n"
    )
    assert (one.input.options["late"], two.input.options["late"]) == (0.5, 0.1)
    assert (one.input.options["events"], two.input.options["events"]) == (50, 50)
    assert (one.tags, two.tags) == ((), ("quick",))


def test_a_yaml_alias_is_resolved():
    text = SOUND.replace("faults:", "limits: &long {run_s: 900}\nfaults:")
    assert read(text)[0].limits.run_s == 900


def test_faults_without_names_are_numbered():
    again = "  - {do: kill, target: driver, when: {batch: 5}}\n"
    leader = '  - {do: kill, target: "broker:leader=2", when: {acknowledged: 0.5}}\n'
    (found,) = read(SOUND + again + leader)
    assert [one.name for one in found.faults] == [
        *("kill_driver", "kill_driver_2", "kill_broker_leader"),
    ]


def test_a_strategy_may_be_named_alone():
    (found,) = read(SOUND + "restart: exponential-delay\n")
    assert found.restart["reset_after_s"] == 120


def test_a_job_of_a_user_gets_the_settings_that_its_command_takes():
    (found,) = read(JOB.replace("{topic}", "{topic} {max_offsets}"))
    assert found.job.options == {"window": "4 s", "max_offsets": 2000}
    assert (found.job.name, found.is_ours) == ("mine", False)


def test_a_job_of_a_user_lives_in_turns_if_its_scenario_says_so(tmp_path):
    (always,), (turns,) = read(JOB), read(f"{JOB}lives: in_turns\n")
    assert (always.lives, turns.lives) == ("until_stopped", "in_turns")
    assert "lives" not in always.fields()
    assert Scenario.of(turns.fields()).lives == "in_turns"
    plans = [Plan.read(make_plan(one, 7, tmp_path / one.lives).plan) for one in (always, turns)]
    assert [one.lives for one in plans] == ["until_stopped", "in_turns"]
    assert ["lives" in one.document for one in plans] == [False, True]
    assert [fields_of(one).get("lives") for one in plans] == [None, "in_turns"]
    started = [" ".join(explain(one)["Started"]) for one in plans]
    assert ["It runs in turns" in one for one in started] == [False, True]


def test_every_fault_of_the_catalogue_demands_an_effect():
    faults = [(one.name, fault) for one in load_catalogue() for fault in one.faults]
    assert [(name, fault.name) for name, fault in faults if not fault.effect] == []


def test_the_catalogue_loads_and_its_names_are_unique():
    found = [one.name for one in load_catalogue()]
    assert len(found) == len(set(found)) >= 20


def test_a_name_in_two_files_is_refused(tmp_path):
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text(SOUND)
    with pytest.raises(RequestError, match=r"two\.yaml:.*'app_views__.*scenarios/one\.yaml"):
        load_catalogue(tmp_path)


@pytest.mark.parametrize("one", load_catalogue(), ids=lambda one: one.name)
def test_a_resolved_scenario_is_the_same_scenario(one):
    (again,) = read_text(yaml.safe_dump(one.fields()), one.file)
    assert replace(again, folder=one.folder, in_catalogue=True) == one


def test_a_resolved_job_of_a_user_is_the_same_scenario():
    (one,) = read(JOB)
    assert read(yaml.safe_dump(one.fields())) == [one]


def test_a_scenario_is_found_by_name_by_file_and_by_both(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(SOUND)
    ours = find_scenario("app_views__upsert_table__kill_driver")
    assert find_scenario(str(path)).name == find_scenario(f"{path}::{ours.name}").name == ours.name
    assert (ours.address, find_scenario(str(path)).address) == (ours.name, f"{path}::{ours.name}")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "app_views__upsert_table__kil_driver",
            "did you mean 'app_views__upsert_table__kill_driver'?",
        ),
        ("zzz", "unknown scenario 'zzz'; `onceproof list` lists all"),
        ("nowhere.yaml", "nowhere.yaml cannot be read: "),
        (
            str(catalogue_folder() / "append_table.yaml"),
            "append_table.yaml::NAME with one of copy_",
        ),
    ],
)
def test_a_missing_scenario_is_reported(asked, message):
    with pytest.raises(RequestError) as caught:
        find_scenario(asked)
    assert message in str(caught.value)


def test_the_schema_of_scenario_files_is_up_to_date():
    written = (ROOT / "docs/schemas/scenario.json").read_text()
    assert written == text_of(file_schema()), "python -m onceproof.scenario.schema docs/schemas/..."


FILES = sorted(catalogue_folder().glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_catalogue_fits_its_schema(path):
    schema = json.loads((ROOT / "docs/schemas/scenario.json").read_text())
    Draft202012Validator(schema).validate(yaml.safe_load(path.read_text()))
    first = path.read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../docs/schemas/scenario.json"


@pytest.mark.parametrize(
    ("sound", "bad"),
    [
        ("pipeline: app_views", "pipeline: app_view"),
        ("pipeline: app_views", "pipelin: app_views"),
        ("sink: upsert_table\n", ""),
        ("events: 20_000", "evnts: 20_000"),
        ("events: 20_000", "events: many"),
        ("target: driver", "target: drivers"),
        ("batch: 3", "visible: 3"),
        ("failpoint: written", "failpoint: writen"),
        ("faults:", "restart: {strategy: none, delay_s: 1}\nfaults:"),
    ],
)
def test_the_schema_refuses_what_an_editor_should_mark(sound, bad):
    schema = Draft202012Validator(file_schema())
    assert schema.is_valid(yaml.safe_load(SOUND))
    assert not schema.is_valid(yaml.safe_load(SOUND.replace(sound, bad, 1)))


def test_what_scenarios_may_name_is_what_runs_can_do():
    assert fault_fields.MOMENT.keys() == TRIGGERS.keys()
    for target in (name.replace("<partition>", "0") for name in all_targets()):
        assert [one for one in MECHANISMS if any(one.takes(verb, target) for verb in verbs())]
    for one in load_catalogue():
        assert all(kind_of(fault.when) for fault in one.faults)


def test_every_field_is_explained_on_its_page():
    page = (ROOT / "docs/test-a-job/scenarios.md").read_text()
    fields = file_schema()["$defs"].keys() | fault_fields.MOMENT.keys() | restart.STRATEGIES.keys()
    assert [name for name in sorted(fields) if f"`{name}" not in page] == []


def test_an_unreadable_file_is_named(tmp_path):
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RequestError, match=r"bad\.yaml"):
        read_file(tmp_path / "bad.yaml")
