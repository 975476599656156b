"""A stack that stands is used when all its members serve, and those that do not are named."""

from types import SimpleNamespace

import pytest

from onceproof.errors import RequestError, StackError
from onceproof.phases import bodies
from onceproof.phases.plan import Origin, make_plan
from onceproof.phases.prepare import await_members, prepare
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.scenario import find_scenario


class Standing:
    """A stack whose looks at its members are given, the last of them for good."""

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


def test_who_answers_late_is_waited_for():
    late = [member("master"), member("worker:1", "the master does not answer")]
    stack = Standing(late, late, [member("master"), member("worker:1")])
    await_members(stack, 5)
    assert len(stack.looks) == 1


def test_a_look_that_fails_is_repeated():
    stack = Standing(StackError("the engine is busy"), [member("master")])
    await_members(stack, 5)
    assert len(stack.looks) == 1


def test_the_stack_and_its_last_error_are_named_where_nobody_could_look():
    said = "the members of the stack mine cannot be seen: the engine is busy"
    with pytest.raises(StackError, match=said):
        await_members(Standing(StackError("the engine is busy")), 0)


def test_all_who_do_not_serve_are_named():
    dead = [member("store"), member("broker:1", "it is dead"), member("worker:1", "it is paused")]
    said = r"stack mine .*broker:1 \(it is dead\), worker:1 \(it is paused\): start what is dead"
    with pytest.raises(StackError, match=said):
        await_members(Standing(dead), 0)


def test_an_orchestrators_parts_are_not_looked_at():
    await_members(Standing([member("airflow:scheduler", "it is dead", "airflow")]), 0)


def test_what_is_not_installed_is_refused_before_a_stack_is_started(tmp_path, monkeypatch):
    run = make_plan(find_scenario("copy_events__two_phase_table__delivery_timed_out"), 7, tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = r"kafka-python \(makes and reads topics\), .* 'onceproof\[spark,kafka,postgres\]'"
    with pytest.raises(RequestError, match=said):
        prepare(run, Plan.read(run.plan), tmp_path / "nowhere")


@pytest.mark.parametrize(("orchestrator", "kept"), [("", ["stack"]), ("manual__1", [])])
def test_a_runs_own_stack_outlives_the_task_that_prepares_it(
    orchestrator, kept, tmp_path, monkeypatch
):
    origin = Origin(orchestrator=orchestrator)
    run = make_plan(find_scenario("copy_events__append_table__calm"), 7, tmp_path, origin=origin)
    found = Prepared(str(tmp_path / "stack"), True, "", "", "", {})
    keepers = []
    monkeypatch.setattr(bodies, "prepare", lambda *_: found)
    monkeypatch.setattr(bodies, "run_calm", lambda *_: None)
    monkeypatch.setattr(bodies, "LocalStack", lambda folder: SimpleNamespace(state=folder.name))
    monkeypatch.setattr(bodies, "keep", keepers.append)
    bodies.prepared(run, Plan.read(run.plan))
    assert keepers == kept
