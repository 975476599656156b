"""The judge's own tests would see it if the judge were wrong: each fault in it is killed by one."""

import copy
from dataclasses import replace

import pytest

from tests.mutants.of_judge import PLANTED


@pytest.fixture(params=PLANTED, ids=lambda planted: planted.fault)
def planted(request):
    return replace(request.param, case=copy.deepcopy(request.param.case))


def test_a_fault_of_the_judge_is_killed_by_a_test(planted, tmp_path, monkeypatch):
    planted.plant(monkeypatch)
    with pytest.raises(AssertionError):
        planted.run(tmp_path)


def test_the_test_that_kills_it_holds_without_it(planted, tmp_path):
    planted.run(tmp_path)


def test_the_case_that_kills_it_is_one_of_the_tests_own(planted):
    marks = [one for one in getattr(planted.killed_by, "pytestmark", ()) if one.args]
    for names, cases in (one.args for one in marks):
        given = tuple(planted.case[name] for name in names)
        assert given in [getattr(case, "values", case) for case in cases]
