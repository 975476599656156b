"""A pipeline's job file and its reference have the same name."""

import ast

import pytest

from onceproof.errors import RequestError
from onceproof.references import REFERENCES, find_reference
from tests.repo.tree import PACKAGE, ROOT, imports, parse

STEMS = {path.stem for path in (ROOT / "spark_jobs").glob("*.py")} - {"stream"}
SQL_TYPES = {"string", "bigint", "int", "double", "boolean", "timestamp"}


def test_every_pipeline_has_a_reference_and_no_reference_is_without_one():
    assert STEMS == REFERENCES.keys() != set()


@pytest.mark.parametrize("name", sorted(STEMS))
def test_a_reference_has_the_facts_that_a_sink_needs(name):
    reference = find_reference(REFERENCES[name])
    assert (PACKAGE / "references" / f"{name}.py").exists()
    assert set(reference.columns.values()) <= SQL_TYPES
    assert set(reference.key) < set(reference.columns)
    assert reference.version is None or reference.columns[reference.version] == "bigint"
    assert reference.mode in ("append", "update", "complete")
    assert (reference.state is None) is (reference.state_columns == ())


@pytest.mark.parametrize("name", sorted(STEMS))
def test_a_job_has_a_stream(name):
    text = (ROOT / "spark_jobs" / f"{name}.py").read_text()
    assert "\ndef stream(events: DataFrame) -> DataFrame:\n" in text


@pytest.mark.parametrize(
    "path", sorted((ROOT / "spark_jobs").glob("*.py")), ids=lambda one: one.stem
)
def test_no_job_imports_a_reference(path):
    assert [name for name in imports(path) if name.startswith("onceproof.references")] == []


@pytest.mark.parametrize("name", sorted(STEMS))
def test_a_jobs_constants_agree_with_its_reference(name):
    reference, job = find_reference(REFERENCES[name]), constants_of(name)
    assert (job["COLUMNS"], job["KEY"]) == (reference.columns, reference.key)
    assert (job["VERSION"], job["MODE"]) == (reference.version, reference.mode)


def constants_of(name):
    """Return the constants of a job's file."""
    body = parse(ROOT / "spark_jobs" / f"{name}.py").body
    found = [node for node in body if isinstance(node, ast.Assign)]
    return {node.targets[0].id: ast.literal_eval(node.value) for node in found}


@pytest.mark.parametrize("name", ["nothing", "onceproof.nothing:X", "onceproof.references:Events"])
def test_an_object_that_is_not_a_reference_is_rejected(name):
    with pytest.raises(RequestError, match="eference"):
        find_reference(name)
