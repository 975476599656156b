"""Every crash, and every pair of them, under the protocols that run in production."""

from collections import Counter

import pytest

from onceproof.guarantee import Guarantee
from tests.model.families import FAMILIES
from tests.model.schedules import (
    attempts_at_tasks,
    dozing_attempts,
    failures,
    lingering_attempts,
    pairs_of_crashes,
    power_cuts,
    single_crashes,
    sleeping_attempts,
    watched_crashes,
)
from tests.model.two_drivers import second_drivers

CRASHES = [single_crashes, pairs_of_crashes, power_cuts, watched_crashes]
KINDS = [*CRASHES, failures, attempts_at_tasks, sleeping_attempts, dozing_attempts]
KINDS += [lingering_attempts]


def two_drivers(family):
    return second_drivers(family, every=8)


# Of these each family has hundreds to thousands of schedules.
MANY = [pairs_of_crashes, failures, attempts_at_tasks, sleeping_attempts, two_drivers]
CALM = [dozing_attempts, lingering_attempts]
EXACT = [name for name, one in FAMILIES.items() if one.guarantee is Guarantee.EXACTLY_ONCE]
NOT_EXACT = sorted(FAMILIES.keys() - EXACT)


ALL = [
    pytest.param(kind, id=kind.__name__, marks=pytest.mark.thorough if kind in MANY else ())
    for kind in [*KINDS, two_drivers]
]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("family", EXACT)
def test_exactly_once_is_exact_under_every_schedule(family, kind):
    outcomes = list(kind(FAMILIES[family]))
    assert [one for one in outcomes if not one.is_exact][:3] == []
    assert len(outcomes) > 35


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("family", NOT_EXACT)
def test_at_least_once_duplicates_and_never_loses(family, kind):
    outcomes = list(kind(FAMILIES[family]))
    wrong = [one for one in outcomes if one.lost or one.left or one.violations]
    assert wrong[:3] == []
    assert any(one.duplicated for one in outcomes) or kind in CALM


def test_a_calm_world_is_exact_whatever_the_family():
    calm = [next(iter(single_crashes(family))) for family in FAMILIES.values()]
    assert [one.is_exact for one in calm] == [True] * len(FAMILIES)


def test_a_log_that_marks_behind_its_effect_duplicates_exactly_there():
    """Of each of three batches: half of it when half is applied, all of it when it is unmarked."""
    found = Counter(one.duplicated for one in single_crashes(FAMILIES["wal"]))
    assert found == {0: sum(found.values()) - 6, 1: 3, 2: 3}


def test_an_append_duplicates_from_its_first_row_to_the_commit_log():
    found = Counter(one.duplicated for one in single_crashes(FAMILIES["append"]))
    assert set(found) == {0, 1, 2}
