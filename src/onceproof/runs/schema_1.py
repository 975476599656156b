"""Plans of schema 1, which had one pipeline, one workload and one sink by these names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.errors import EvidenceError


def of_schema_1(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan of schema 1 as one of schema 2."""
    try:
        workload, pipeline, sink = (document[one] for one in ("workload", "pipeline", "sink"))
        job = {name: pipeline[name] for name in ("name", "command", "options")}
        given = {name: workload[name] for name in ("topic", "partitions", "options")}
        output = {name: value for name, value in sink.items() if name != "name"}
        rest = {name: value for name, value in document.items() if name not in _REPLACED}
        return {
            **_ADDED_TO_1,
            **rest,
            "schema": 2,
            "jobs": [job | {"runtime": pipeline.get("runtime", {})}],
            "inputs": [{"name": "events", "workload": workload["name"], **given}],
            "queries": [
                {
                    "name": "main",
                    "job": pipeline["name"],
                    "inputs": ["events"],
                    "starting": pipeline.get("starting", "earliest"),
                    "source_options": document.get("source_options", {}),
                    "outputs": [
                        {
                            "name": "output",
                            "sink": sink["name"],
                            **output,
                            "reference": pipeline["reference"],
                            "declared": pipeline.get("output", {}),
                            "rows": document.get("reference"),
                        }
                    ],
                }
            ],
        }
    except KeyError as error:
        raise EvidenceError(f"the plan has no {error}") from None
    except (TypeError, AttributeError) as error:
        raise EvidenceError(f"the plan of schema 1 cannot be read: {error}") from None


_REPLACED = {"pipeline", "workload", "sink", "reference", "source_options"}
# Fields that later versions of schema 1 added, with the value that they had before.
_ADDED_TO_1: Mapping[str, Any] = {
    "file": "",
    "tags": [],
    "ends": "over",
    "last_words": "",
    "unexplained": "refused",
    "decided_by": {},
    "subject_files": {},
    "subject_given": "",
}
