"""Every document for other programs is valid by its schema."""

import pytest

from tests.system.command import document, run
from tests.system.test_stack_life import home  # noqa: F401

pytestmark = [pytest.mark.stack, pytest.mark.system]


def test_doctor_finds_this_machine_sound():
    code, found = document("doctor", "doctor")
    assert code == 0
    needed = [check for check in found["checks"] if check["required"]]
    assert [check["name"] for check in needed if not check["ok"]] == []


def test_doctor_fails_if_a_required_check_fails():
    code, out, _ = run("doctor", PYSPARK_PYTHON="/nonexistent/python")
    assert code == 3
    assert "set it to" in out


def test_up_status_and_verbs_print_valid_documents(home):  # noqa: F811
    linked = ("--links", "--home", home)
    code, up = document("members", "up", "--brokers", 1, "--workers", 1, *linked)
    assert (code, up["home"], up["seconds"] > 0) == (0, str(home), True)
    code, killed = document("verb", "kill", "worker:any", "--home", home)
    assert (code, killed["member"]) == (0, "worker:1")
    code, status = document("members", "status", "--home", home)
    assert code == 1
    names = ["broker:1", "master", "worker:1", "store", "links"]
    assert [member["name"] for member in status["members"]] == names
    assert [member["healthy"] for member in status["members"]] == [True, True, False, True, True]
    code, slow = document("links", "delay", "broker:1", "--ms", 10, "--home", home)
    assert (code, slow["members"]) == (0, ["broker:1"])
    assert slow["proof"]["counts"]["held_bytes"] > 0
    code, healed = document("links", "heal", "--home", home)
    assert [one["rule"]["name"] for one in healed["healed"]] == ["delay broker:1 from anyone"]
    code, started = document("verb", "start", "worker:1", "--home", home)
    assert started["proof"]["changed"] is True
    assert run("logs", "broker:1", "--lines", 3, "--home", home)[1].count("\n") == 3
