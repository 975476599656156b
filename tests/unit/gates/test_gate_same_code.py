"""Runs of one version that were not of the same code do not count together."""

import json
from dataclasses import replace

import pytest

from onceproof.digests import file_digest
from onceproof.gates.verification import other_code, other_of, trouble_of
from onceproof.past.entry import evidence_digest
from onceproof.runs.directory import RunDirectory
from tests.unit.verdict_entries import good, unknown

ONE = {
    "subject": "v1",
    "subject_files": {"{here}/job.py": "d1", "onceproof": "d2"},
    "versions": {"onceproof": "0.1.0", "pyspark": "4.2.0", "python": "3.11.7"},
}
SAID = "It is not of the same code as run_1, which has the same version: "


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"subject_files": {"{here}/job.py": "d9", "onceproof": "d2"}}, "job.py differs"),
        ({"subject_files": {"{here}/job.py": "d1"}}, "onceproof differs"),
        ({"subject_files": None}, "job.py, onceproof differ"),
        (
            {"versions": {"onceproof": "0.0.1", "pyspark": "3.5.0"}},
            "the version of onceproof, the version of pyspark differ",
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
    assert other_code(ONE | {"subject_files": files}, ONE, "run_1") == f"{SAID}job.py differs"


RAN_ON = {
    "spark": "4.2.0",
    "java": "17.0.9",
    "python": "cpython 3.11.7",
    "packages": {"pyspark": "4.2.0"},
    "jars": {"iceberg.jar": "1.4.2"},
    "files": {"common.py": "d1"},
    "unknown": [],
}


def lived(runs, number, ran_on=RAN_ON, **changes):
    run = RunDirectory(runs / f"run_{number}")
    run.root.mkdir()
    run.plan.write_text(json.dumps(ONE | changes))
    run.verdict.write_text(json.dumps({"ran_on": ran_on}))
    digests = {"evidence": evidence_digest(run), "verdict_digest": file_digest(run.verdict)}
    return good(number, directory=str(run.root), **digests)


def test_a_run_of_other_code_than_the_first_does_not_count_with_it(tmp_path):
    first, same = lived(tmp_path, 1), lived(tmp_path, 2)
    other = lived(tmp_path, 3, subject_files={"{here}/job.py": "d9", "onceproof": "d2"})
    found = [other_of(one, None, first) for one in (first, same, other)]
    assert found == ["", "", f"{SAID}job.py differs"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spark": "4.1.0"}, "the version of spark differs"),
        ({"python": "cpython 3.12.1"}, "the version of python differs"),
        ({"java": "21.0.1"}, "the version of java differs"),
        ({"jars": {"iceberg.jar": "1.5.0"}}, "iceberg.jar differs"),
        ({"jars": {}}, "iceberg.jar differs"),
        ({"jars": RAN_ON["jars"] | {"more.jar": "x"}}, "more.jar differs"),
        ({"files": {"common.py": "d2"}}, "common.py differs"),
        ({"packages": {"pyspark": "4.1.0"}}, "pyspark differs"),
        ({"unknown": ["jars"]}, "what is unknown differs"),
    ],
)
def test_a_run_on_other_things_does_not_count_with_the_first(tmp_path, changes, said):
    first, other = lived(tmp_path, 1), lived(tmp_path, 2, RAN_ON | changes)
    assert other_of(other, None, first) == (
        f"It did not run on the same as run_1, which has the same version: {said}"
    )


def test_another_spark_is_named_before_its_many_jars(tmp_path):
    other = {"spark": "4.1.0", "jars": {f"a{number}.jar": "x" for number in range(200)}}
    first, second = lived(tmp_path, 1), lived(tmp_path, 2, RAN_ON | other)
    said = other_of(second, None, first)
    assert "same version: the version of spark, a0.jar, a1.jar" in said
    assert said.endswith("and 196 more differ")


def test_a_file_that_only_one_of_two_runs_imported_makes_no_other_code(tmp_path):
    more = {"files": {"common.py": "d1", "late.py": "d2"}, "packages": {}}
    first, second = lived(tmp_path, 1), lived(tmp_path, 2, RAN_ON | more)
    assert other_of(second, None, first) == other_of(first, None, second) == ""


def test_a_run_without_a_record_of_its_environment_does_not_count(tmp_path):
    first, older = lived(tmp_path, 1), replace(lived(tmp_path, 2), ran_on="")
    assert other_of(older, None, first) == (
        "It has no record of what its job ran on; run the scenario again"
    )
    assert other_of(replace(older, verdict="UNKNOWN"), None, first) == ""


def test_a_first_run_that_is_gone_is_its_own_trouble(tmp_path):
    first, second = good(1, directory=str(tmp_path / "gone")), lived(tmp_path, 2)
    assert other_of(second, None, first) == ""
    assert trouble_of(first).startswith("Its evidence is gone")


def test_a_run_that_was_not_judged_has_no_evidence_to_be_in_trouble(tmp_path):
    assert trouble_of(unknown(evidence="", directory=str(tmp_path / "gone"))) == ""
