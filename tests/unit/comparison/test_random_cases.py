"""Cases of nasty values, drawn by their seeds: the judge says what a person would say.

`make prove PART=fuzz_diff` runs as many as an hour takes. To repeat one that failed:
`python -m tests.prove.fuzz_diff SEED`.
"""

import subprocess
import sys

import pytest

from tests.repo.tree import ROOT
from tests.unit.comparison.cases import Maker, check, tally

THOROUGH = pytest.mark.thorough
CASES, AT_ONCE, NAN_FILES = 300, 60, 60


@THOROUGH  # test_exactness and test_against_oracle have a quicker case of each kind
@pytest.mark.parametrize("first", range(0, CASES, AT_ONCE))
def test_random_cases_are_judged_as_the_oracle_judges_them(tmp_path, first):
    found = tally(range(first, first + AT_ONCE), tmp_path)
    assert sum(found.values()) == AT_ONCE
    assert found["compared"] > AT_ONCE * 0.7
    assert found["refused"] > 0


def test_a_case_is_the_same_each_time(tmp_path):
    one, other = (Maker(7, tmp_path / name).make() for name in "ab")
    assert (one.about, one.truth) == (other.about, other.truth)


def test_a_case_that_is_judged_wrongly_names_its_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(Maker, "_truth", lambda *_: {"lost": 10**6})
    with pytest.raises(AssertionError, match=r"\b9,.duckdb:.*\b1000000"):
        check(9, tmp_path)


@THOROUGH
def test_files_of_nan_and_one_other_value_leave_the_heap_whole(tmp_path):
    command = [
        sys.executable,
        "-m",
        "tests.unit.comparison.nan_files",
        str(NAN_FILES),
        "1",
        tmp_path,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, str(NAN_FILES)), done.stderr[-2000:]
