"""The file that `onceproof init` writes: a scenario that runs, made of the command of a job."""

import pytest
import yaml

from onceproof.cli import carry_out
from onceproof.errors import RequestError
from onceproof.scenario.catalogue import find_scenario
from onceproof.scenario.starter import Answers, starter

JDBC = (
    "python3 jobs/orders.py --brokers kafka-1:9092,kafka-2:9092 --topic=orders --checkpoint /tmp/c"
    " --jdbc 'jdbc:postgresql://db/shop?user=me' --table public.orders --limit 5"
)
SUBMIT = (
    "spark-submit --master spark://prod:7077 --deploy-mode=cluster jobs/orders.py kafka:9092 orders"
    " --checkpoint-location s3a://c --filter '{\"a\": 1}' --out /data/out"
)


@pytest.fixture(autouse=True)
def job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/orders.py").touch()
    (tmp_path / "sample.jsonl").write_text('{"value": {"id": 1}}\n' * 40)


def command(text):
    return yaml.safe_load(text)["pipeline"]["command"]


def made(words, output="table:public.orders", key=("order_id",), here=".", **more):
    from pathlib import Path

    return starter(Answers(words, "orders", output, key, **more), Path(here))


def test_addresses_in_a_command_become_placeholders():
    found = command(made(JDBC))
    assert found == [
        *("{python}", "{here}/jobs/orders.py", "--brokers", "{bootstrap}", "--topic={topic}"),
        *("--checkpoint", "{checkpoint}", "--jdbc", "{jdbc}", "--table", "{target}"),
        *("--limit", "5"),
    ]


def test_flags_of_the_cluster_are_removed_and_brackets_kept():
    found = command(made(SUBMIT, "parquet:/data/out"))
    assert found == [
        *("spark-submit", "{here}/jobs/orders.py", "{bootstrap}", "{topic}"),
        *("--checkpoint-location", "{checkpoint}", "--filter", '{{"a": 1}}', "--out", "{target}"),
    ]


def test_files_are_relative_to_the_scenario(tmp_path):
    (tmp_path / "tests").mkdir()
    assert "{here}/../jobs/orders.py" in command(made(JDBC, here="tests"))


def test_an_output_that_is_not_in_the_command_is_read_in_place():
    words = JDBC.replace("--table public.orders", "")
    assert yaml.safe_load(made(words))["sink"] == {"name": "table", "table": "public.orders"}


def test_an_output_topic_becomes_a_placeholder_too():
    words = "python jobs/copy.py kafka:9092 orders paid --checkpoint c"
    assert command(made(words, "topic:paid"))[-4:] == [
        *("{topic}", "{target}", "--checkpoint", "{checkpoint}")
    ]
    assert yaml.safe_load(made(words, "topic:other"))["sink"] == {"name": "topic", "topic": "other"}


def test_an_interpreter_that_is_named_by_its_path_is_the_jobs():
    found = yaml.safe_load(made(JDBC.replace("python3", "/opt/venv/bin/python")))["pipeline"]
    assert (found["python"], found["command"][0]) == ("/opt/venv/bin/python", "{python}")
    assert "python" not in yaml.safe_load(made(JDBC))["pipeline"]


def test_sample_records_are_sent_as_they_are():
    found = yaml.safe_load(made(JDBC, records="sample.jsonl"))["workload"]
    assert found == {"name": "records", "file": "sample.jsonl", "rate": 4}


def test_sample_records_in_another_encoding_are_refused(tmp_path):
    (tmp_path / "latin.jsonl").write_bytes('{"name": "José"}\n'.encode("latin-1"))
    with pytest.raises(RequestError, match=r"latin\.jsonl.*UTF-8"):
        made(JDBC, records="latin.jsonl")


@pytest.mark.parametrize(
    ("words", "output", "key", "message"),
    [
        ("python jobs/orders.py kafka:9092 orders", "table:t", ("k",), "lacks {checkpoint}"),
        ("python jobs/orders.py", "table:t", ("k",), "lacks {bootstrap} for the brokers'"),
        (JDBC, "excel:orders.xls", ("k",), "use one of table:SCHEMA.TABLE, parquet:FOLDER"),
        (JDBC, "table:t", ("",), "the key is empty"),
        ("python 'jobs", "table:t", ("k",), "No closing quotation"),
        ("", "table:t", ("k",), "the command is empty"),
    ],
)
def test_incomplete_answers_are_refused(words, output, key, message):
    with pytest.raises(RequestError) as raised:
        made(words, output, key)
    assert message in str(raised.value)


def test_the_file_that_is_written_is_a_scenario_and_is_never_overwritten(tmp_path, capsys):
    words = ["init", "--command", JDBC, "--topic", "orders", "--output", "table:public.orders"]
    assert carry_out([*words, "--key", "shop, order_id"]) == 0
    out = capsys.readouterr().out
    assert "onceproof doctor orders.yaml\n  onceproof run orders.yaml" in out
    found = find_scenario("orders.yaml")
    assert (found.name, found.output.sink) == ("orders__table__crashes", "table")
    assert list(found.output.declared["key"]) == ["shop", "order_id"]
    before = (tmp_path / "orders.yaml").read_text()
    assert carry_out([*words, "--key", "other"]) == 3
    assert "orders.yaml exists already" in capsys.readouterr().err
    assert (tmp_path / "orders.yaml").read_text() == before


def test_without_a_terminal_it_names_missing_options(tmp_path, capsys):
    assert carry_out(["init", "--command", JDBC, "--topic", "orders"]) == 3
    assert "init lacks --output, --key" in capsys.readouterr().err
    assert list(tmp_path.glob("*.yaml")) == []


def test_on_a_terminal_it_asks(monkeypatch, tmp_path):
    answers = iter([JDBC, "orders", "table:public.orders", "order_id"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda _: next(answers))
    assert carry_out(["init", "mine.yaml"]) == 0
    assert find_scenario("mine.yaml").output.declared["key"] == ("order_id",)


def test_a_job_that_ends_by_itself_needs_one_more_line(tmp_path):
    (tmp_path / "scenario.yaml").write_text(made(JDBC).replace("# lives:", "lives:"))
    assert find_scenario(str(tmp_path / "scenario.yaml")).lives == "in_turns"
