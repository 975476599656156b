import pytest

from onceproof.errors import EvidenceError, StackError
from onceproof.machine.polling import comes_true, wait_for


def test_the_first_true_value_is_returned():
    values = iter([0, "", "found"])
    assert wait_for(lambda: next(values), 5, "not reached", every_s=0) == "found"


def test_a_limit_that_passes_raises_with_the_words():
    with pytest.raises(StackError, match=r"nobody came \(waited 0.02 s\)"):
        wait_for(lambda: None, 0.02, "nobody came", every_s=0.001)


def test_it_looks_once_more_after_the_limit():
    looks = []
    with pytest.raises(StackError):
        wait_for(lambda: looks.append(1), 0, "nobody came")
    assert looks == [1]


def test_what_the_look_raises_is_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        wait_for(lambda: 1 / 0, 5, "not reached")


def test_one_look_that_fails_does_not_end_the_waiting():
    looks = iter([StackError("the engine is busy"), False, True])

    def look():
        found = next(looks)
        if isinstance(found, StackError):
            raise found
        return found

    assert comes_true(look, 5, every_s=0)


def test_what_is_false_at_the_last_look_is_false():
    looks = iter([StackError("the engine is busy")])

    def look():
        for error in looks:
            raise error

    assert not comes_true(look, 0.02, every_s=0.001)


def test_the_error_of_the_last_look_is_told_when_time_is_over():
    looks = []

    def look():
        looks.append(1)
        raise StackError(f"look {len(looks)} failed")

    with pytest.raises(StackError, match=r"look \d+ failed \(waited 0.05 s\)") as raised:
        comes_true(look, 0.05, every_s=0.01)
    assert len(looks) > 1
    assert str(raised.value).startswith(f"look {len(looks)} failed")


def test_what_is_no_error_of_the_stack_ends_the_waiting_at_once():
    with pytest.raises(EvidenceError, match="damaged"):
        comes_true(lambda: (_ for _ in ()).throw(EvidenceError("damaged")), 60)
