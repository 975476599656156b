"""Runs of one version that were not of the same code do not count together."""

import json

import pytest

from onceproof.digests import file_digest
from onceproof.gate.same_code import other_code
from onceproof.gate.verification import trouble_of
from onceproof.run import RunDirectory
from onceproof.verdicts.digest import evidence_digest
from tests.unit.verdict_entries import good

ONE = {
    "subject": "v1",
    "subject_files": {"{here}/job.py": "d1", "onceproof": "d2"},
    "versions": {"onceproof": "0.1.0", "pyspark": "4.2.0", "python": "3.11.7"},
}
SAID = "It is not of the same code as run_1, which has the same version: "


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"subject_files": {"{here}/job.py": "d9", "onceproof": "d2"}}, "job.py is another"),
        ({"subject_files": {"{here}/job.py": "d1"}}, "onceproof is another"),
        ({"subject_files": None}, "job.py, onceproof are others"),
        (
            {"versions": {"onceproof": "0.0.1", "pyspark": "3.5.0"}},
            "the version of onceproof, the version of pyspark are others",
        ),
    ],
)
def test_other_files_and_other_versions_are_other_code(changes, said):
    assert other_code(ONE | changes, ONE, "run_1") == SAID + said


def test_the_same_file_elsewhere_and_another_python_are_the_same_code():
    files = {"/srv/other/job.py": "d1", "onceproof": "d2"}
    versions = ONE["versions"] | {"python": "3.12.1"}
    assert other_code(ONE | {"subject_files": files, "versions": versions}, ONE, "run_1") == ""


def test_two_files_of_one_name_are_both_compared():
    files = {"/a/job.py": "d1", "/b/job.py": "d3", "onceproof": "d2"}
    assert other_code(ONE | {"subject_files": files}, ONE, "run_1") == f"{SAID}job.py is another"


def lived(runs, number, **changes):
    run = RunDirectory(runs / f"run_{number}")
    run.root.mkdir()
    run.plan.write_text(json.dumps(ONE | changes))
    run.verdict.write_text("{}")
    digests = {"evidence": evidence_digest(run), "verdict_digest": file_digest(run.verdict)}
    return good(number, directory=str(run.root), **digests)


def test_a_run_of_other_code_than_the_first_is_in_trouble(tmp_path):
    first, same = lived(tmp_path, 1), lived(tmp_path, 2)
    other = lived(tmp_path, 3, subject_files={"{here}/job.py": "d9", "onceproof": "d2"})
    found = [trouble_of(one, None, first) for one in (first, same, other)]
    assert found == ["", "", f"{SAID}job.py is another"]


def test_a_first_run_that_is_gone_is_its_own_trouble(tmp_path):
    first, second = good(1, directory=str(tmp_path / "gone")), lived(tmp_path, 2)
    assert trouble_of(second, None, first) == ""
    assert trouble_of(first, None, first).startswith("Its evidence is gone")
