import os
import re
import threading

import pytest

from onceproof import failpoints
from onceproof.errors import StackError
from onceproof.failpoints import Failpoint, FailpointError
from onceproof.machine.polling import wait_for

MESSAGES = {
    "no strike": "written was reached for fault kill_driver, which did not strike",
    "fails": "written of batch 3: fault kill_driver made it fail",
}


@pytest.fixture
def point(tmp_path, monkeypatch):
    monkeypatch.setenv(failpoints.FOLDER, str(tmp_path))
    return Failpoint("kill_driver", "written", 3, tmp_path)


def test_without_a_folder_a_step_is_passed(monkeypatch):
    monkeypatch.delenv(failpoints.FOLDER, raising=False)
    failpoints.reached("written", 3)


@pytest.mark.parametrize(("name", "batch"), [("written", 2), ("write_half", 3)])
def test_another_step_and_an_earlier_batch_are_passed(point, name, batch):
    point.arm()
    failpoints.reached(name, batch)
    assert point.reached() is None


def test_an_armed_step_halts_until_it_is_let_go_and_records_its_process(point):
    point.arm()
    halted = threading.Thread(
        target=failpoints.reached, args=("written", 5), kwargs={"partition": 1}
    )
    halted.start()
    found = wait_for(point.reached, 5, "it was not reached")
    assert halted.is_alive()
    assert found == {"name": "written", "batch": 5, "pid": os.getpid(), "partition": 1}
    point.let_go()
    halted.join(5)
    assert not halted.is_alive()


def test_a_step_is_reached_once_over_all_restarts(point):
    point.arm()
    point.let_go()
    failpoints.reached("written", 3)
    first = point.mark.stat()
    failpoints.reached("written", 4)
    assert point.mark.stat() == first
    assert point.reached()["batch"] == 3


def test_is_armed_shows_beforehand_whether_a_step_will_halt(point):
    assert not failpoints.is_armed("written", 3)
    point.arm()
    point.let_go()
    assert failpoints.is_armed("written", 3)
    assert not failpoints.is_armed("written", 2)
    failpoints.reached("written", 3)
    assert not failpoints.is_armed("written", 3)


def test_a_reached_step_without_a_strike_is_an_error(point, monkeypatch):
    monkeypatch.setattr(failpoints, "_HELD_AT_MOST_S", 0.05)
    point.arm()
    with pytest.raises(StackError, match=re.escape(MESSAGES["no strike"])):
        failpoints.reached("written", 3)


def test_a_halted_process_records_that_it_raises_and_raises(point):
    point.arm()
    point.fail()
    point.let_go()
    with pytest.raises(FailpointError, match=re.escape(MESSAGES["fails"])):
        failpoints.reached("written", 3)
    assert point.raised.exists()
    failpoints.reached("written", 3)
