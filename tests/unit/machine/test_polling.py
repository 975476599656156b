import pytest

from onceproof.errors import EvidenceError, StackError
from onceproof.machine.polling import comes_true, wait_for


def test_the_first_true_value_is_returned():
    values = iter([0, "", "found"])
    assert wait_for(lambda: next(values), 5, "not reached", every_s=0) == "found"


def test_a_timeout_raises_the_message_and_the_seconds():
    with pytest.raises(StackError, match=r"reached.*0\.02"):
        wait_for(lambda: None, 0.02, "not reached", every_s=0.001)


def test_the_condition_is_checked_once_more_after_the_limit():
    looks = []
    with pytest.raises(StackError):
        wait_for(lambda: looks.append(1), 0, "not reached")
    assert looks == [1]


def test_an_exception_of_the_condition_is_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        wait_for(lambda: 1 / 0, 5, "not reached")


def test_one_failed_check_does_not_end_the_wait():
    looks = iter([StackError("the engine is busy"), False, True])

    def look():
        found = next(looks)
        if isinstance(found, StackError):
            raise found
        return found

    assert comes_true(look, 5, every_s=0)


def test_a_condition_that_is_false_at_the_last_check_is_false():
    looks = iter([StackError("the engine is busy")])

    def look():
        for error in looks:
            raise error

    assert not comes_true(look, 0.02, every_s=0.001)


def test_a_timeout_raises_the_error_of_the_last_check():
    looks = []

    def look():
        looks.append(1)
        raise StackError(f"look {len(looks)} failed")

    with pytest.raises(StackError, match=r"look.*0\.05") as raised:
        comes_true(look, 0.05, every_s=0.01)
    assert len(looks) > 1
    assert str(raised.value).startswith(f"look {len(looks)} failed")


def test_another_error_than_a_stack_error_ends_the_wait_at_once():
    with pytest.raises(EvidenceError, match="damaged"):
        comes_true(lambda: (_ for _ in ()).throw(EvidenceError("damaged")), 60)
