import re

import pytest

from onceproof.errors import RequestError
from onceproof.faults.registry import find_mechanism
from onceproof.faults.triggers import has_missed, kind_of, look_of, sentence


class At:
    """A run without progress."""

    def __init__(self, share=0.0, batch=None, rows=0, committed=-1):
        self.acknowledged = self.committed = lambda: share
        self.open_batch = lambda: batch
        self.newest = lambda: (committed if batch is None else batch, committed)
        self.visible = lambda _: rows


@pytest.mark.parametrize(
    ("when", "before", "then"),
    [
        ({"acknowledged": 0.5}, At(0.49), At(0.5)),
        ({"committed": 0.5}, At(0.49), At(0.51)),
        ({"batch": 3}, At(batch=2), At(batch=3)),
        ({"batch": 3}, At(batch=None), At(batch=4)),
        ({"failpoint": "offsets_written", "batch": 3}, At(batch=2), At(batch=3)),
        ({"failpoint": "commit_logged", "batch": 3}, At(committed=2), At(committed=3)),
        ({"failpoint": "commit_logged"}, At(batch=4, committed=3), At(committed=4)),
        ({"visible": 10}, At(batch=1, rows=9), At(batch=1, rows=10)),
        ({"visible": 10}, At(batch=None, rows=10), At(batch=0, rows=10)),
        ({"visible": 10, "batch": 2}, At(batch=1, rows=10), At(batch=2, rows=10)),
    ],
)
def test_a_trigger_fires_at_its_moment_and_not_before(when, before, then):
    look = look_of(when)
    assert look(when, before) is None
    assert look(when, then)


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ({}, "invalid trigger when: {}; use one of failpoint, acknowledged"),
        ({"seconds": 5}, "invalid trigger when: {'seconds': 5}"),
        ({"acknowledged": 0.5, "committed": 0.5}, "invalid trigger when: {'acknowledged': 0.5, 'c"),
        ({"acknowledged": 0.5, "batch": 3}, "invalid trigger when: {'acknowledged': 0.5, 'batch'"),
        ({"acknowledged": 1.5}, "when.acknowledged: invalid value 1.5; use a share"),
        ({"acknowledged": True}, "when.acknowledged: invalid value True; use a share"),
        ({"batch": -1}, "when.batch: invalid value -1; use the number of a batch"),
        ({"failpoint": "wrote"}, "when.failpoint: unknown value 'wrote'; did you mean 'written'"),
        ({"failpoint": "written", "batch": "x"}, "when.batch: invalid value 'x'"),
    ],
)
def test_an_invalid_trigger_is_refused(when, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        kind_of(when)


def test_every_trigger_has_a_sentence():
    assert sentence({"failpoint": "written", "batch": 3}) == "failpoint written of batch 3"
    assert sentence({"committed": 0.6}) == "0.6 of input committed"
    assert sentence({"visible": 100}) == "100 rows of batch 0 or later visible while it is open"


def test_a_fault_is_found_by_verb_and_target_or_refused():
    assert find_mechanism("kill", "driver").takes("kill", "driver")
    assert find_mechanism("pause", "broker:any").takes("pause", "broker:2")
    for verb, target in (("stop", "job"), ("pause", "broker:all"), ("mend", "nowhere")):
        with pytest.raises(RequestError, match=repr(verb)):
            find_mechanism(verb, target)
    with pytest.raises(RequestError, match="'broker:'"):
        find_mechanism("kill", "broker:")


def test_a_halting_step_has_no_look():
    assert look_of({"failpoint": "written"}) is None


@pytest.mark.parametrize(
    ("when", "missed", "caught"),
    [
        ({"batch": 3}, (3, 3), (3, 2)),
        ({"failpoint": "offsets_written"}, (4, 3), (3, 2)),
        ({"failpoint": "commit_logged"}, (4, 3), (3, 3)),
    ],
)
def test_a_driver_that_died_after_its_moment_was_missed(when, missed, caught):
    assert has_missed(when, 3, *missed)
    assert not has_missed(when, 3, *caught)


def test_a_driver_that_was_halted_cannot_be_missed():
    assert not has_missed({"failpoint": "written"}, 3, 3, 3)
