"""Rows of the verdict history, made by hand for tests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from onceproof.past.entry import Entry

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
SCENARIO = "copy_events__two_phase_table__kill_driver"
GOOD = Entry(
    run="run_1",
    directory="/nowhere/run_1",
    scenario=SCENARIO,
    seed=1,
    subject="v1",
    night="",
    at=NOW - timedelta(hours=1),
    verdict="PASS",
    claims="PASS",
    as_claimed=True,
    hold_to="exactly-once",
    reasons=("Every row is there once",),
    findings={},
    differences={"lost": 0, "duplicated": 0},
    broken=(),
    faults=1,
    landed=1,
    recovery_s=4.5,
    seconds=60.0,
    tags=("quick",),
    evidence="e1",
    verdict_digest="d1",
    ran_on="sha256:r1",
    effects=("retried",),
)


def good(number=1, hours=1.0, **changes):
    """Return a run as claimed, this many hours ago."""
    names = {"run": f"run_{number}", "directory": f"/nowhere/run_{number}", "seed": number}
    digests = {"evidence": f"e{number}", "verdict_digest": f"d{number}"}
    return replace(GOOD, at=NOW - timedelta(hours=hours), **(names | digests | changes))


def red(number=1, hours=1.0, **changes):
    """Return a run that duplicated rows although that is not allowed."""
    found = {
        "verdict": "FAIL",
        "as_claimed": False,
        "reasons": ("3 rows duplicated: not allowed under exactly-once",),
        "findings": {"rows": "FAIL"},
        "differences": {"lost": 0, "duplicated": 3},
        "broken": ("duplicated",),
    }
    return good(number, hours, **found | changes)


def unknown(number=1, hours=1.0, **changes):
    """Return a run whose fault did not strike."""
    found = {
        "verdict": "UNKNOWN",
        "as_claimed": False,
        "reasons": ("kill_driver left no proof",),
        "findings": {"faults_landed": "UNKNOWN"},
        "landed": 0,
    }
    return good(number, hours, **found | changes)
