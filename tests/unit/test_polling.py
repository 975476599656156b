import pytest

from onceproof.errors import StackError
from onceproof.machine.polling import wait_for


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
