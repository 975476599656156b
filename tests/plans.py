"""Documents of plans, for tests: whole, and changed in the parts that a test is about."""

from typing import Any


def plan_document(
    *,
    job: dict[str, Any] | None = None,
    input: dict[str, Any] | None = None,
    query: dict[str, Any] | None = None,
    output: dict[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Return the document of a plan; of a part, the fields that are given are changed."""
    run = changes.get("run", "a_run")
    written = {
        "name": "output",
        "sink": "append_table",
        "target": f"{run}.output",
        "options": {},
        "family": "append",
        "store": "postgresql",
        "guarantee": "at-least-once",
        "atomic_batches": False,
        "ordered": False,
        "versioned": False,
        "writes": "append",
        "reference": "onceproof.references.copy_events:REFERENCE",
        "declared": {},
        "rows": None,
    }
    read = {
        "name": "events",
        "workload": "page_views",
        "topic": f"{run}.events",
        "partitions": 4,
        "options": {"events": 10},
    }
    started = {"name": "copy_events", "command": [], "options": {}, "runtime": {}}
    asked = {"name": "main", "job": "copy_events", "inputs": ["events"]}
    return {
        "schema": 2,
        "scenario": "copy_events__append_table__calm",
        "run": run,
        "seed": 7,
        "file": "scenarios/append_table.yaml",
        "tags": [],
        "jobs": [started | (job or {})],
        "inputs": [read | (input or {})],
        "queries": [asked | (query or {}) | {"outputs": [written | (output or {})]}],
        "faults": [],
        "restart": {},
        "limits": {"run_s": 60, "stall_s": 60},
        "ends": "over",
        "last_words": "",
        "unexplained": "refused",
        "hold_to": "exactly-once",
        "claims": "PASS",
        "anomalies": [],
        "expectations": {},
        "decided_by": {},
        "subject": "git:1",
        "subject_files": {},
        "subject_given": "",
        "versions": {},
        "replay": "onceproof run copy_events__append_table__calm --seed 7",
    } | changes


def input_of(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the one input of a plan's document."""
    found: dict[str, Any] = plan["inputs"][0]
    return found


def output_of(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the one output of a plan's document."""
    found: dict[str, Any] = plan["queries"][0]["outputs"][0]
    return found
