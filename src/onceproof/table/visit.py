"""A run of a sink that visits crash points: a crash and a batch for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onceproof import api
from onceproof.failpoints import SEEN, TASK
from onceproof.guarantee import Guarantee
from onceproof.phases.prepare import prepared_on
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.scenario import Scenario
from onceproof.sinks import find_sink
from onceproof.stacks import Stack

ROWS_A_BATCH = 400
KAFKA, TAKEN_ONCE = "kafka", "taken_once"
ONE_PROCESS = "local[2]"
# Not promised by these sinks, but counted in every verdict.
_NO_MATTER = ("torn", "reordered")
_ROW_CLASSES = ("lost", "duplicated", "unexpected", "changed")


@dataclass(frozen=True)
class Step:
    """A crash point: the process, whether its crash was proved, and the rows that differ."""

    point: str
    dies: str
    landed: bool
    found: Mapping[str, int]

    @property
    def outcome(self) -> str:
        """The classes of its wrong rows, or PASS."""
        return " and ".join(name for name, rows in self.found.items() if rows) or "PASS"


@dataclass(frozen=True)
class Visit:
    """The result of a run at each of its points; `document` is its verdict."""

    sink: str
    source: str
    steps: tuple[Step, ...]
    document: Mapping[str, Any]

    @property
    def anomalies(self) -> dict[str, int]:
        """The classes that exactly-once does not allow, with their rows."""
        found = self.document["differences"]
        return {name: found[name] for name in found if found[name] and name not in _NO_MATTER}

    @property
    def unknown_reasons(self) -> list[str]:
        """The reasons of the findings that are UNKNOWN."""
        findings = self.document["findings"]
        return [one["reason"] for one in findings if one["verdict"] == "UNKNOWN"]


def points(sink: str, *, with_tasks: bool = True) -> tuple[str, ...]:
    """Return the crash points of a sink, the engine's first."""
    return tuple(one for one in (*SEEN, *find_sink(sink).steps) if with_tasks or one not in TASK)


def expected(sink: str, source: str) -> list[str]:
    """Return the anomalies that the pair shows if it is judged by exactly-once."""
    kind = find_sink(sink)
    repeats = kind.guarantee is Guarantee.AT_LEAST_ONCE
    # An append writes a batch again if it is read again; a log repeats what it has staged.
    duplicates = repeats and (source == KAFKA or kind.family == "wal")
    return [*(["lost"] if source == TAKEN_ONCE else []), *(["duplicated"] if duplicates else [])]


def visit(
    sink: str,
    source: str,
    steps: Sequence[str],
    stack: Stack,
    folder: Path,
    *,
    seed: int = 7,
    one_process: bool = False,
) -> Visit:
    """Run a visit: steps of a task crash its executor, the others the driver.

    With `one_process` driver and executors are one process, which crashes at every step.
    """
    fields = scenario(sink, source, steps, one_process=one_process)
    folder.mkdir(parents=True, exist_ok=True)
    run = api.plan(Scenario.of(fields, file=f"{fields['name']}.yaml"), seed, folder)
    if one_process:
        found = prepared_on(run, stack, Plan.read(run.plan), own=False)
        replace(found, master=ONE_PROCESS).write(run.prepared)
    document = api.live(run, folder, stack.name, is_recorded=False).document
    return Visit(sink, source, _steps(run, fields, document), document)


def scenario(
    sink: str, source: str, steps: Sequence[str], *, one_process: bool = False
) -> dict[str, Any]:
    """Return the fields of the scenario: a batch for each step, and one between two."""
    faults = [
        {
            "name": f"die_at_{point}",
            "do": "kill",
            "target": "executor" if point in TASK and not one_process else "driver",
            "when": {"failpoint": point, "batch": 2 * number + 1},
        }
        for number, point in enumerate(steps)
    ]
    anomalies = expected(sink, source)
    batches = 2 * len(steps) + 3
    suffix = "" if source == KAFKA else f"_{source}"
    return {
        "name": f"copy_events__{sink}__crash_points{suffix}",
        "pipeline": "copy_events",
        "sink": sink,
        **({} if source == KAFKA else {"source": source}),
        "faults": faults,
        "max_offsets": ROWS_A_BATCH,
        "workload": {"events": ROWS_A_BATCH * batches, "partitions": 4, "rate": 0},
        "restart": {"strategy": "fixed-delay", "attempts": len(steps) + 3, "delay_s": 0.1},
        "limits": {"run_s": 900, "stall_s": 90},
        "hold_to": Guarantee.EXACTLY_ONCE.value,
        **({"claims": "FAIL", "anomalies": anomalies} if anomalies else {}),
    }


def _steps(
    run: RunDirectory, fields: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[Step, ...]:
    """Return the steps, each with the rows that differ in the batch of its crash."""
    landed = {fault["name"]: fault for fault in document["faults"]}
    rows = _rows_by_batch(run)
    steps = []
    for fault in fields["faults"]:
        struck = landed.get(fault["name"], {})
        moment = ((struck.get("proof") or {}).get("moment")) or {}
        found = {name: rows[name, moment.get("batch")] for name in _ROW_CLASSES}
        point = fault["when"]["failpoint"]
        steps.append(Step(point, fault["target"], bool(struck.get("landed")), found))
    return tuple(steps)


def _rows_by_batch(run: RunDirectory) -> Counter[tuple[str, int | None]]:
    import pyarrow.parquet as parquet

    found: Counter[tuple[str, int | None]] = Counter()
    for path in run.differences.glob("*.parquet"):
        for one in parquet.ParquetFile(path).read(["class", "rows", "batch"]).to_pylist():
            found[one["class"], one["batch"]] += one["rows"]
    return found
