"""Adding a fault takes one file and one line in the registry: here with a fault of these tests."""

import importlib
import pkgutil
import re
from types import SimpleNamespace

import pytest

from onceproof import faults
from onceproof.errors import RequestError
from onceproof.faults import Mechanism, registry
from onceproof.faults.abilities import refuse_unable
from onceproof.judging.checkers.faults_landed import faults_landed
from onceproof.phases.plan import make_plan
from onceproof.runs.plan import FaultPart, Plan
from onceproof.scenario import find_scenario
from onceproof.scenario.catalogue import read_text
from onceproof.scenario.random_faults import with_random_faults
from onceproof.scenario.schema import file_schema
from onceproof.scenario.sentences import explain
from onceproof.verdict import Grade
from tests.unit.handwritten_run import HandwrittenRun, fault, plan, struck

FILE = '''
"""Sets the clock of the driver's machine back."""

from onceproof.faults import WHEN, At, Draw, Ends, Mechanism, Need
from onceproof.schema.kinds import Field, whole
from onceproof.faults.checks import Check


def strike(fault, scene):
    return {"seconds": fault.how.get("seconds", 60)}


MECHANISM = Mechanism(
    {"skew": "the clock, before and after"},
    ("clock",),
    strike,
    (Check("the clock went back", lambda case: case.proof["seconds"] > 0),),
    ends={"clock": Ends.ATTEMPT},
    how={"skew": {"seconds": Field(whole(1, 3600), "of skew: by how much", None)}},
    needs=(Need(WHEN, lambda one: "write no step" if one.step == "written" else ""),),
    lacks=lambda stack, fault: "" if stack.clocks else f"{stack.name} has no clock",
    draws=(Draw(1_000_000, "skew", "clock", At.SHARE),),
    words={"clock": "the clock of the driver"},
)
'''
SCENARIO = """
name: copy_events__upsert_table__skew
pipeline: copy_events
sink: upsert_table
workload: {events: 20000}
faults:
  - do: skew
    target: clock
    how: {seconds: 90}
    when: {committed: 0.5}
"""


@pytest.fixture(autouse=True)
def added(tmp_path, monkeypatch):
    (tmp_path / "skew_clock.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    found = importlib.import_module("skew_clock").MECHANISM
    monkeypatch.setattr(registry, "MECHANISMS", (*registry.MECHANISMS, found))
    return found


def test_no_mechanism_is_missing_in_the_registry():
    for found in pkgutil.iter_modules(faults.__path__):
        module = importlib.import_module(f"onceproof.faults.{found.name}")
        for name, one in vars(module).items():
            assert not isinstance(one, Mechanism) or one in registry.MECHANISMS, name


def test_a_scenario_file_may_ask_for_it_and_its_plan_holds_it(tmp_path):
    [scenario] = read_text(SCENARIO, "skew.yaml")
    planned = Plan.read(make_plan(scenario, 7, tmp_path).plan)
    [part] = planned.faults
    assert (part.verb, part.target, part.how) == ("skew", "clock", {"seconds": 90})
    [words] = explain(planned)["Struck"]
    assert "skew the clock of the driver (seconds 90)" in words
    assert "Proof: the clock, before and after." in words


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("seconds: 90", "seconds: 0", "use a whole number of at least 1 and at most 3600"),
        ("seconds: 90", "ms: 90", "skew takes seconds under how"),
        ("do: skew", "do: kill", "unknown verb for clock 'kill'; choose one of skew"),
        ("target: clock", "target: clocks", "did you mean 'clock'"),
        ("committed: 0.5", "failpoint: written", "write no step"),
        ("faults:", "restart: {strategy: none}\nfaults:", "driver is struck 1 times"),
    ],
)
def test_a_mistake_in_it_is_refused_with_its_own_words(good, bad, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        read_text(SCENARIO.replace(good, bad), "skew.yaml")


def test_the_json_schema_has_its_verb_its_target_and_its_option():
    fields = file_schema()["$defs"]["faults"]["items"]["properties"]
    assert "skew" in fields["do"]["enum"]
    assert re.fullmatch(fields["target"]["pattern"], "clock")
    assert fields["how"]["properties"]["seconds"]["maximum"] == 3600


def test_it_is_drawn_at_random():
    drawn = with_random_faults(find_scenario("copy_events__upsert_table__calm"), 7, 3)
    assert [one.verb for one in drawn.faults] == ["skew"] * 3


def test_a_stack_that_lacks_the_ability_is_refused():
    asked = [FaultPart("skew_clock", "skew", "clock", {"committed": 0.5})]
    refuse_unable(SimpleNamespace(clocks=True, runs_executors_here=True), asked)
    with pytest.raises(RequestError, match="far"):
        refuse_unable(SimpleNamespace(clocks=False, name="far"), asked)


@pytest.mark.parametrize(("seconds", "grade"), [(90, Grade.PASS), (0, Grade.UNKNOWN)])
def test_the_judge_asks_its_check(tmp_path, seconds, grade):
    when = {"failpoint": "decided", "batch": 1}
    run = HandwrittenRun(plan=plan(faults=[fault("skew_clock", "skew", "clock", **when)]))
    [at] = [number for number, one in enumerate(run.history) if one["op"] == "fault.strike"]
    run.history[at] = struck("skew_clock", seconds=seconds)
    finding = faults_landed(run.write(tmp_path / "run"))
    assert finding.verdict is grade
    assert ("does not show that the clock went back" in finding.reason) == (seconds == 0)
