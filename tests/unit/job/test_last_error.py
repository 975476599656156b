"""The reason of a failed run: the last error in the job's log, and its newest batch."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from onceproof.errors import RequestError
from onceproof.job.last_error import failure_reason, last_error
from onceproof.phases.subject import refuse_absent
from onceproof.runs.directory import RunDirectory
from onceproof.scenario.catalogue import find_scenario


class Paper:
    def __init__(self, planned, committed):
        self.newest = planned, committed


def archived(run, planned, committed):
    return [(SimpleNamespace(run=run), Paper(planned, committed))]


def test_the_last_line_without_warnings_and_stack_traces_is_quoted():
    log = b"""26/01/01 00:00:00 WARN Utils: a warning
Traceback (most recent call last):
  File "orders.py", line 1, in <module>
ModuleNotFoundError: No module named 'shop'
\tat java.base/java.lang.Thread.run
26/01/01 00:00:01 INFO ShutdownHookManager: gone

"""
    assert last_error(log) == "ModuleNotFoundError: No module named 'shop'"
    assert last_error(b"") == ""
    assert last_error(b"26/01/01 00:00:00 WARN Utils: all there is") != ""


def test_an_error_is_quoted_and_not_the_plan_that_spark_prints_after_it():
    log = b"""[Stage 1:====>   (3 + 1) / 4]
26/01/01 00:00:00 ERROR MicroBatchExecution: Query terminated with error
pyspark.errors.StreamingQueryException: [STREAM_FAILED] Query terminated: no such file
=== Streaming Query ===
Logical Plan:
+- ~Project [id#15L]
"""
    error = "pyspark.errors.StreamingQueryException: [STREAM_FAILED] Query terminated: no such file"
    assert last_error(log) == error
    assert last_error(log.splitlines()[0]) == "[Stage 1:====>   (3 + 1) / 4]"


@pytest.mark.parametrize(
    ("newest", "message"),
    [
        ((-1, -1), "it planned no batch in /"),
        ((0, -1), "it planned batch 0 and committed none"),
    ],
)
def test_the_reason_has_the_newest_batch(tmp_path, newest, message):
    run = RunDirectory(tmp_path)
    run.logs.mkdir()
    (run.logs / "driver-2.log").write_text("gone\n")
    found = failure_reason("it failed", archived(run, *newest), 2)
    assert found.startswith(f"it failed; {message}")
    assert found.endswith("logs/driver-2.log: gone")


def test_the_reason_of_a_job_that_committed_has_no_batch(tmp_path):
    assert failure_reason("it failed", archived(RunDirectory(tmp_path), 4, 3), 1) == "it failed"


def test_a_program_beside_the_jobs_own_interpreter_is_found(tmp_path):
    (tmp_path / "python").symlink_to(sys.executable)
    submit = tmp_path / "submit-it"
    submit.write_text("#!/bin/sh\n")
    submit.chmod(0o755)
    job = find_scenario("copy_events__append_table__calm").job
    own = replace(job, command=("submit-it",), runtime={"python": f"{tmp_path}/python"})
    refuse_absent(own, ".")
    with pytest.raises(RequestError, match="submit-it"):
        refuse_absent(replace(own, runtime={}), ".")
