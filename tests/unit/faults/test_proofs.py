"""The declared checks of each mechanism, applied to proofs of real runs and their mutations."""

import json
from dataclasses import replace

import pytest

from onceproof.faults import Ends
from onceproof.faults.checks import DRIVER_ENDED, failed
from onceproof.faults.moments import MOMENT
from onceproof.faults.registry import MECHANISMS, find_mechanism
from tests.prove.evidence import may_survive
from tests.prove.mutations import generic, of_value
from tests.unit.proof_page import PAGE, table
from tests.unit.proof_samples import case_of, name_of, samples

SAMPLES = samples()


def troubles(case):
    mechanism = find_mechanism(case.fault.verb, case.fault.target)
    return failed((*MOMENT, *mechanism.proves, *mechanism.cures), case)


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_the_proof_of_a_real_run_shows_all_that_is_declared(sample, tmp_path):
    assert troubles(case_of(sample, tmp_path)) == []


def mutants(case):
    """Yield each proof of strike and heal with one field changed, with the mutation's label."""
    for part in ("strike", "heal"):
        record = getattr(case, part)
        for where, kind, changed in of_value(record.proof) if record else ():
            label = f"history.jsonl {record.op} proof.{generic(where)} {kind}"
            yield label, replace(case, **{part: replace(record, proof=changed())})


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_proof_with_any_field_changed_proves_nothing(sample, tmp_path):
    survived = [name for name, case in mutants(case_of(sample, tmp_path)) if not troubles(case)]
    assert [name for name in survived if not may_survive(name)] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
@pytest.mark.parametrize("proof", [{}, {"landed": True}], ids=json.dumps)
def test_an_empty_proof_shows_nothing(sample, proof, tmp_path):
    case = case_of(sample, tmp_path)
    mechanism = find_mechanism(case.fault.verb, case.fault.target)
    empty = replace(case, strike=replace(case.strike, proof=proof))
    assert len(failed(mechanism.proves, empty)) >= 1


def test_a_heal_is_proved_where_there_is_one():
    assert [one.verbs for one in MECHANISMS if one.has_heal != bool(one.cures)] == []


def test_a_driver_that_a_fault_ends_is_proved_dead():
    ended = {Ends.DRIVER, Ends.REPLACED, Ends.CHECKPOINT}
    for one in MECHANISMS:
        ends = {one.ends.get(target, Ends.NOTHING) in ended for target in one.targets}
        assert ends == {set(DRIVER_ENDED) <= set(one.proves)}, one.verbs


def test_the_page_has_the_declared_table():
    assert table() in PAGE.read_text(), "run: python -m tests.unit.proof_page"
