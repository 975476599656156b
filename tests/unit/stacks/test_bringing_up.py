import errno
import re

import pytest

from onceproof.errors import RequestError
from onceproof.stacks.local.bringing_up import bring_up, refuse_invalid_shape


@pytest.mark.parametrize("brokers", [0, 2, 4, 6, -1])
def test_numbers_without_a_majority_are_refused(brokers):
    with pytest.raises(RequestError, match=re.escape(f"--brokers {brokers}")):
        refuse_invalid_shape(brokers, 2, [])


def test_an_empty_stack_is_refused():
    with pytest.raises(RequestError, match="empty"):
        refuse_invalid_shape(3, 2, ["kafka", "spark", "store"])


def test_a_disk_that_fills_up_is_reported(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "/disk/file")

    monkeypatch.setattr("onceproof.stacks.local.bringing_up._launches", full)
    with pytest.raises(RequestError, match="/disk/file"):
        bring_up(tmp_path / "stack", {"brokers": 1, "workers": 0}, has_store=False, is_quick=True)


def test_another_disk_error_is_not_reported_as_a_full_disk(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("onceproof.stacks.local.bringing_up._launches", broken)
    with pytest.raises(OSError, match="Input/output"):
        bring_up(tmp_path / "stack", {"brokers": 1, "workers": 0}, has_store=False, is_quick=True)
