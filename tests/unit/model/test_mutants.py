"""Protocols with a fault in them: if the model does not see it, its other tests prove nothing."""

import pytest

from tests.model.schedules import tried
from tests.model.striking import Schedule
from tests.model.two_drivers import second_drivers
from tests.mutants.page import PAGE, page
from tests.mutants.planted import MUTANTS, TURNS, caught
from tests.unit.model.test_every_crash import EXACT, KINDS


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.fault)
def test_a_fault_is_caught_by_the_crash_point_that_should_catch_it(mutant):
    found, struck = caught(mutant)[mutant.at]
    assert found > 0
    assert found == struck or mutant.kind is TURNS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.fault)
def test_a_fault_is_not_caught_where_nothing_strikes(mutant):
    assert tried(mutant.made, Schedule(watched=True))[0].is_exact


def test_correct_families_pass_all_that_catches_a_mutant():
    kinds = {getattr(mutant.kind, "func", mutant.kind) for mutant in MUTANTS}
    assert kinds <= {*KINDS, second_drivers}
    assert {mutant.family for mutant in MUTANTS} <= set(EXACT)


@pytest.mark.thorough
def test_the_page_of_mutants_is_up_to_date():
    assert page() == PAGE.read_text(), "run python -m tests.mutants"
