"""Finding a scenario reads one file of the catalogue and one sink, without a Kafka client."""

import subprocess
import sys

import pytest

from onceproof.errors import RequestError
from onceproof.machine.home import catalogue_folder
from onceproof.scenario import catalogue, find_scenario, load_catalogue
from onceproof.scenario.catalogue import names_in
from tests.prove.figures import SCENARIO, executed_by_finding

# 25 for the search itself, and 8 that call a function when they are imported.
MOST = 33

WITHOUT_CLIENTS = """
import sys

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "confluent_kafka":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from onceproof.scenario import load_catalogue
print(*sorted({one.input.options["client"] for one in load_catalogue()}))
"""


def test_the_whole_catalogue_is_read_where_no_confluent_kafka_is_installed():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CLIENTS], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("confluent kafka-python\n", "")


def test_finding_one_scenario_executes_few_files():
    executed = executed_by_finding(SCENARIO)
    assert "scenario/building.py" in executed
    assert len(executed) <= MOST


def test_the_names_of_a_file_are_those_of_its_scenarios():
    found = [name for path in sorted(catalogue_folder().glob("*.yaml")) for name in names_in(path)]
    assert found == [one.name for one in load_catalogue()]


ONE = "name: copy_events__append_table__calm\npipeline: copy_events\nsink: append_table\n"
OTHER = ONE.replace("append", "upsert")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write the files of a catalogue and use it."""
    monkeypatch.setattr(catalogue, "catalogue_folder", lambda: tmp_path)

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text)

    return write


def test_only_the_file_that_holds_the_name_is_built(files):
    files(a=ONE, b=OTHER.replace("sink: upsert_table", "sink: no_such_sink"))
    assert find_scenario("copy_events__append_table__calm").in_catalogue
    for look in (load_catalogue, lambda: find_scenario("copy_events__upsert_table__calm")):
        with pytest.raises(RequestError, match=r"b\.yaml:3:.*'no_such_sink'"):
            look()


def test_a_name_in_two_files_is_refused_by_the_catalogue_and_by_the_search(files):
    files(a=ONE, b=OTHER, c=ONE)
    for look in (load_catalogue, lambda: find_scenario("copy_events__append_table__calm")):
        with pytest.raises(RequestError) as refused:
            look()
        assert str(refused.value).startswith("scenarios/c.yaml: ")
        assert "scenarios/a.yaml" in str(refused.value)
    assert find_scenario("copy_events__upsert_table__calm").output.sink == "upsert_table"
