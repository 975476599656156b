"""What a job said last, and how far it came, for whoever asks why a run came to nothing."""

import sys
from dataclasses import replace

import pytest

from onceproof.errors import RequestError
from onceproof.job.last_words import explained, last_words
from onceproof.phases.subject import refuse_absent
from onceproof.runs.directory import RunDirectory
from onceproof.scenario.catalogue import find_scenario


class Paper:
    def __init__(self, planned, committed):
        self.newest = planned, committed


def test_the_last_line_that_is_no_warning_and_no_stack_trace_is_quoted():
    log = b"""26/01/01 00:00:00 WARN Utils: a warning
Traceback (most recent call last):
  File "orders.py", line 1, in <module>
ModuleNotFoundError: No module named 'shop'
\tat java.base/java.lang.Thread.run
26/01/01 00:00:01 INFO ShutdownHookManager: gone

"""
    assert last_words(log) == "ModuleNotFoundError: No module named 'shop'"
    assert last_words(b"") == ""
    assert last_words(b"26/01/01 00:00:00 WARN Utils: all there is") != ""


def test_an_error_is_quoted_and_not_the_plan_that_spark_prints_behind_it():
    log = b"""[Stage 1:====>   (3 + 1) / 4]
26/01/01 00:00:00 ERROR MicroBatchExecution: Query terminated with error
pyspark.errors.StreamingQueryException: [STREAM_FAILED] Query terminated: no such file
=== Streaming Query ===
Logical Plan:
+- ~Project [id#15L]
"""
    said = "pyspark.errors.StreamingQueryException: [STREAM_FAILED] Query terminated: no such file"
    assert last_words(log) == said
    assert last_words(log.splitlines()[0]) == "[Stage 1:====>   (3 + 1) / 4]"


@pytest.mark.parametrize(
    ("newest", "said"),
    [
        ((-1, -1), "it never began a batch in /"),
        ((0, -1), "it began batch 0 and never committed one"),
    ],
)
def test_how_far_a_job_came_is_told(tmp_path, newest, said):
    run = RunDirectory(tmp_path)
    run.logs.mkdir()
    (run.logs / "driver-2.log").write_text("gone\n")
    found = explained("it failed", run, Paper(*newest), 2)
    assert found.startswith(f"it failed; {said}")
    assert found.endswith("its last words in logs/driver-2.log: gone")


def test_a_job_that_committed_is_told_by_its_last_words_alone(tmp_path):
    assert explained("it failed", RunDirectory(tmp_path), Paper(4, 3), 1) == "it failed"


def test_a_program_beside_the_jobs_own_interpreter_is_there(tmp_path):
    (tmp_path / "python").symlink_to(sys.executable)
    submit = tmp_path / "submit-it"
    submit.write_text("#!/bin/sh\n")
    submit.chmod(0o755)
    job = find_scenario("copy_events__append_table__calm").job
    own = replace(job, command=("submit-it",), runtime={"python": f"{tmp_path}/python"})
    refuse_absent(own, ".")
    with pytest.raises(RequestError, match="program 'submit-it' is not there"):
        refuse_absent(replace(own, runtime={}), ".")
