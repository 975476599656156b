"""Sinks with a planted fault, in real jobs: each fault is found and classified."""

from collections import Counter

import pytest
from pyspark.errors import StreamingQueryException

from tests.contract.test_sinks_in_jobs import (
    CRASH,
    EXPECTED,
    die_at,
    run,
    seen,
    spark,  # noqa: F401  a fixture
    target_of,
    views,
)
from tests.contract.test_sinks_in_jobs import target as jobs_target  # noqa: F401
from tests.mutants.on_the_stack import IN_JOBS

pytestmark = [pytest.mark.stack, pytest.mark.spark]


@pytest.mark.parametrize("mutant", IN_JOBS, ids=lambda mutant: mutant.fault)
def test_a_planted_fault_is_found_after_the_crash_that_exposes_it(
    spark,  # noqa: F811
    jobs_target,  # noqa: F811
    stack,
    tmp_path,
    monkeypatch,
    mutant,
):
    target = target_of(mutant.name, jobs_target, tmp_path, stack)
    die_at(mutant.point, monkeypatch)
    with pytest.raises(StreamingQueryException, match=CRASH):
        run(target, 1, mutant.name, views(spark, tmp_path))
    sink = run(target, 2, mutant.name, views(spark, tmp_path))
    found = Counter(seen(sink, tmp_path))
    sink.drop()
    lost, duplicated = Counter(EXPECTED) - found, found - Counter(EXPECTED)
    wrong = {"lost": lost, "duplicated": duplicated}
    assert [name for name, rows in wrong.items() if rows] == [mutant.seen]
    assert {batch for batch, *_ in wrong[mutant.seen]} == {1}
