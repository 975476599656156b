"""An existing stack is used if all its members are healthy; unhealthy members are named."""

from types import SimpleNamespace

import pytest

from onceproof.errors import RequestError, StackError
from onceproof.phases import all_phases
from onceproof.phases.plan import Origin, make_plan
from onceproof.phases.prepare import await_members, prepare
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.scenario import find_scenario


class Scripted:
    """A stack with given states of its members, the last of them repeated."""

    name = "mine"

    def __init__(self, *looks):
        self.looks = list(looks)

    def status(self):
        found = self.looks.pop(0) if self.looks[1:] else self.looks[0]
        if isinstance(found, StackError):
            raise found
        return found


def member(name, trouble="", kind="worker"):
    return SimpleNamespace(name=name, kind=kind, healthy=not trouble, trouble=trouble)


def test_a_member_that_answers_late_is_waited_for():
    late = [member("master"), member("worker:1", "the master does not answer")]
    stack = Scripted(late, late, [member("master"), member("worker:1")])
    await_members(stack, 5)
    assert len(stack.looks) == 1


def test_a_look_that_fails_is_repeated():
    stack = Scripted(StackError("the engine is busy"), [member("master")])
    await_members(stack, 5)
    assert len(stack.looks) == 1


def test_an_error_of_the_inspection_has_the_stack_and_the_last_error():
    with pytest.raises(StackError, match=r"mine.*busy"):
        await_members(Scripted(StackError("the engine is busy")), 0)


def test_all_unhealthy_members_are_named():
    dead = [member("store"), member("broker:1", "is dead"), member("worker:1", "is paused")]
    with pytest.raises(StackError, match=r"broker:1.*worker:1"):
        await_members(Scripted(dead), 0)


def test_members_of_the_orchestrator_are_ignored():
    await_members(Scripted([member("airflow:scheduler", "is dead", "airflow")]), 0)


def test_a_missing_library_is_refused_before_a_stack_is_started(tmp_path, monkeypatch):
    run = make_plan(find_scenario("copy_events__two_phase_table__delivery_timed_out"), 7, tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RequestError, match=r"kafka-python.*onceproof\[spark,kafka,postgres\]"):
        prepare(run, Plan.read(run.plan), tmp_path / "nowhere")


@pytest.mark.parametrize(("orchestrator", "kept"), [("", ["stack"]), ("manual__1", [])])
def test_a_runs_own_stack_outlives_the_task_that_prepares_it(
    orchestrator, kept, tmp_path, monkeypatch
):
    origin = Origin(orchestrator=orchestrator)
    run = make_plan(find_scenario("copy_events__append_table__calm"), 7, tmp_path, origin=origin)
    found = Prepared(str(tmp_path / "stack"), True, "", "", "", {})
    keepers = []
    monkeypatch.setattr(all_phases, "prepare", lambda *_: found)
    monkeypatch.setattr(all_phases, "run_calm", lambda *_: None)
    monkeypatch.setattr(all_phases, "LocalStack", lambda folder: SimpleNamespace(state=folder.name))
    monkeypatch.setattr(all_phases, "keep", keepers.append)
    all_phases.run_prepare(run, Plan.read(run.plan))
    assert keepers == kept
