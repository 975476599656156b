"""A green night and the red one after it, as runs in a folder with their history and a policy."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from onceproof.past.entry import Night
from onceproof.past.issues import issue_of
from onceproof.past.record import history_of
from onceproof.past.store import open_store
from tests.unit.example_runs import EXAMPLES
from tests.unit.handwritten_run import HandwrittenRun, control
from tests.unit.night_runs import lossy, recorded

DAG_RUN = "manual__2026-03-10T03:10:00+00:00"
LOSES = "sliding_counts__two_phase_table__kill_driver"
NEWLY_RED = "copy_events__two_phase_table__kill_driver"
CONTROL = "copy_events__append_table__kill_driver"
UNPROVED = "copy_events__upsert_table__kill_leader"
CALM = "app_views__upsert_table__calm"
POLICY = f"""require:
  - scenario: {NEWLY_RED}
  - scenario: {CALM}
"""


def make_two_nights(runs):
    """Write all of it below `runs`, and the policy beside."""
    now = datetime.now(UTC)
    red, unknown = EXAMPLES["red"][0], EXAMPLES["unknown"][0]
    good, both = HandwrittenRun, {CONTROL: of_control, CALM: HandwrittenRun}
    before = both | {NEWLY_RED: good, UNPROVED: good, LOSES: good}
    after = both | {NEWLY_RED: red, UNPROVED: unknown, LOSES: lossy}
    store = open_store(history_of(runs))
    for made, age, version in ((before, 27, "git:9f2c41d07ab3"), (after, 3, "git:4be1f70a9c21")):
        began = now - timedelta(hours=age)
        night = Night(f"scheduled__{began.isoformat()}", began, dict.fromkeys(made, (7,)))
        store.record_night(night)
        for scenario, make in made.items():
            named = {"orchestrator": DAG_RUN} if scenario == NEWLY_RED and made is after else {}
            named |= {"night": night.name, "subject": version}
            _record(make(), runs, scenario, began + timedelta(hours=1), **named)
    known = store.entries(scenario=LOSES)[0]
    until = (now + timedelta(days=9)).date()
    store.add_issue(issue_of(known, "The fix of the late rows is under review", until, now))
    (runs.parent / "gate.yaml").write_text(POLICY)


def _record(made, runs, scenario, at, **plan):
    name = f"{scenario[:36].rstrip('_')}_{at:%Y%m%dt%H%M%S}_7"
    recorded(made, runs, name, at, scenario=scenario, **plan)


def of_control():
    """A run of a control that loses a row, as it claims to."""
    return replace(lossy(), plan=control("lost"))
