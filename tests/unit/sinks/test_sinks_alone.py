"""A sink in a production job imports no module that runs or judges tests."""

import subprocess
import sys

import pytest

from onceproof.sinks import SINKS

# The modules that sinks depend on: errors, waiting, traits, failpoints, their options (which are
# read without YAML), and reading a checkpoint.
MAY = {"onceproof"} | {
    f"onceproof.{name}"
    for name in (
        *("checkpoint", "checkpoint.log"),
        *("kafka", "kafka.admin", "kafka.encodings", "kafka.security"),
        *("documents", "errors", "failpoints", "fencing", "guarantee", "naming", "variables"),
        *("machine", "machine.polling", "runs", "runs.plan", "runs.schema_1", "verdict"),
        *("schema", "schema.kinds", "schema.values"),
    )
}
HEAVY = {"pyspark", "pandas", "duckdb", "pyarrow", "psycopg", "kafka", "confluent_kafka"} | {
    *("airflow", "great_expectations", "jinja2", "rich", "typer", "yaml")
}
MODULES = [
    *sorted({place.partition(":")[0] for place in SINKS.values()}),
    *("onceproof.sinks.data_source", "onceproof.sinks.sweep"),
]
USE = """
import sys
from onceproof.sinks import Target, find_sink
sink = find_sink(sys.argv[1])(Target(sys.argv[2], "out", {"id": "bigint"}, ("id",)))
sink.prepare(), sink.recover(), sink.open(), sink.reader().look(), sink.drop()
print(*sys.modules)
"""


def modules_behind(script, *words):
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def odd(found):
    ours = {name for name in found if name.partition(".")[0] == "onceproof"}
    return {name for name in ours - MAY if not name.startswith("onceproof.sinks")}


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_sink_brings_in_nothing_of_the_runs(module):
    found = modules_behind(f"import sys, {module}; print(*sys.modules)")
    assert module in found
    assert (odd(found), found & HEAVY) == (set(), set())


@pytest.mark.parametrize("name", ["batch_folder", "two_phase_files"])
def test_using_a_sink_of_files_brings_in_arrow_and_nothing_else(name, tmp_path):
    found = modules_behind(USE, name, str(tmp_path))
    assert (odd(found), found & HEAVY - {"pandas"}) == (set(), {"pyarrow"})  # which brings pandas


def test_imports_of_run_modules_are_noticed():
    assert "onceproof.runs.history" in odd(
        modules_behind("import sys, onceproof.runs.history as _; print(*sys.modules)")
    )
