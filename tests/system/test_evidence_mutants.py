"""A real run whose evidence is changed in one place at a time: the judge detects each change."""

import os
from random import SystemRandom

import pytest
import yaml

from tests.prove.evidence import found_in, judge_all, unexplained
from tests.system.command import run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
DRAWN = 200
SCENARIO = {
    "name": "copy_events__two_phase_table__kill_driver",
    "pipeline": "copy_events",
    "sink": "two_phase_table",
    "max_offsets": 300,
    "workload": {"events": 2400, "partitions": 2},
    "source_options": {"kafka.isolation.level": "read_committed"},
    "faults": [
        {
            "name": "kill_driver",
            "do": "kill",
            "target": "driver",
            "when": {"failpoint": "decided", "batch": 2},
        }
    ],
}


def test_drawn_mutations_of_the_evidence_are_detected(stack, tmp_path):
    file, runs = tmp_path / "scenario.yaml", tmp_path / "runs"
    file.write_text(yaml.safe_dump(SCENARIO))
    words = ["run", file, "--runs", runs, "--home", stack.state.folder, "--json"]
    code, out, err = run(*words, timeout_s=280)
    assert code == 0, out + err
    seed = int(os.environ.get("SEED") or SystemRandom().randrange(2**32))
    found = judge_all(found_in(runs), seed, DRAWN)
    assert len(found) == DRAWN
    assert unexplained(found) == [], f"repeat this draw with SEED={seed}"
