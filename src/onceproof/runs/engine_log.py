"""Spark's event log, reduced to the events that show an effect of a fault.

Spark writes one raw log for each application of an attempt, below the run's temporary folder. When
the job has ended, `record_engine` reads them line by line and writes a small file that stays:
without settings or plans, which may contain passwords, and with a size that depends on failures,
not on the input.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.digests import file_digest
from onceproof.documents import write_whole
from onceproof.errors import EvidenceError
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome

ACTOR = "engine"
NO_LOG = "no event log"
MOST_EVENTS = 10_000  # of an attempt; later ones are only counted
_REASON_LENGTH = 200
_SUCCESS = b'"Task End Reason":{"Reason":"Success"}'
# Not failures: a task that lost to another attempt of itself, or whose stage was cancelled.
_NO_FAILURE = ("Success", "Resubmitted", "TaskKilled", "TaskCommitDenied")
# Large events that are not read here. Spark 4.1 and newer omit them; older versions do not.
_UNREAD = (
    "SparkListenerTaskStart",
    "SparkListenerStageCompleted",
    "SparkListenerEnvironmentUpdate",
    "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart",
    "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate",
    "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent",
)


def settings(raw: Path) -> dict[str, str]:
    """Return the settings with which Spark writes an attempt's raw log into this folder."""
    raw.mkdir(parents=True, exist_ok=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": raw.absolute().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.includeTaskMetricsAccumulators": "false",
        "spark.eventLog.excludedPatterns": ",".join(_UNREAD),
    }


@dataclass
class Extract:
    """The events of one attempt that are kept, and the counts of all."""

    events: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    spark: str = ""
    _batches: dict[int, int] = field(default_factory=dict)  # the batch of each stage
    # The query runs of each batch, by the query's id and the batch.
    _ran: dict[tuple[str, int], set[str]] = field(default_factory=dict)

    def take(self, line: bytes) -> None:
        """Take one line of a log, or raise `EvidenceError` if it is not an event of Spark.

        A last line without an end was torn by the crash of its driver, and is only counted.
        """
        if not line.endswith(b"\n"):
            self._count("torn")
            return
        if b'"SparkListenerTaskEnd"' in line[:40] and _SUCCESS in line:
            self._count("tasks")
            return
        look = next((one for name, one in _LOOKS.items() if name in line[:60]), None)
        if look is None:
            return
        try:
            look(self, json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise EvidenceError(
                f"the event log has an event that cannot be read ({error!r}): {line[:80]!r}"
            ) from None

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _keep(self, what: str, at_ms: int, **facts: Any) -> None:
        self._count(what)
        if len(self.events) < MOST_EVENTS:
            self.events.append({"event": what, "at_ms": at_ms, **facts})

    def _started(self, found: Mapping[str, Any]) -> None:
        self.spark = str(found.get("Spark Version", ""))

    def _executor_lost(self, found: Mapping[str, Any]) -> None:
        reason = str(found.get("Removed Reason", ""))[:_REASON_LENGTH]
        self._keep("executor_lost", found["Timestamp"], executor=found["Executor ID"], why=reason)

    def _stage(self, found: Mapping[str, Any]) -> None:
        stage, batch = found["Stage Info"], (found.get("Properties") or {}).get(_BATCH)
        if batch is not None:
            self._batches[stage["Stage ID"]] = int(batch)
        if stage["Stage Attempt ID"]:
            at_ms = stage.get("Submission Time", 0)
            self._keep("stage_again", at_ms, stage=stage["Stage ID"], **self._of(stage["Stage ID"]))

    def _job(self, found: Mapping[str, Any]) -> None:
        properties = found.get("Properties") or {}
        if properties.get(_BATCH) is None:
            return
        query, batch = str(properties.get(_QUERY)), int(properties[_BATCH])
        runs = self._ran.setdefault((query, batch), set())
        run = str(properties.get(_RUN))
        if runs and run not in runs:
            self._keep("batch_again", found["Submission Time"], batch=batch)
        runs.add(run)

    def _task(self, found: Mapping[str, Any]) -> None:
        self._count("tasks")
        reason = found["Task End Reason"]
        if reason["Reason"] in _NO_FAILURE:
            return
        task, stage = found["Task Info"], found["Stage ID"]
        why = str(reason.get("Class Name") or reason["Reason"])[:_REASON_LENGTH]
        where = {"task": task["Task ID"], "stage": stage, "executor": task["Executor ID"]}
        self._keep("task_failed", task["Finish Time"], **where, why=why, **self._of(stage))

    def _of(self, stage: int) -> dict[str, int]:
        return {"batch": self._batches[stage]} if stage in self._batches else {}


_BATCH, _RUN = "streaming.sql.batchId", "spark.jobGroup.id"
_QUERY = "sql.streaming.queryId"
_LOOKS = {
    b'"SparkListenerLogStart"': Extract._started,
    b'"SparkListenerExecutorRemoved"': Extract._executor_lost,
    b'"SparkListenerStageSubmitted"': Extract._stage,
    b'"SparkListenerJobStart"': Extract._job,
    b'"SparkListenerTaskEnd"': Extract._task,
}


def record_engine(run: RunDirectory, raw: Path, attempt: int, history: History) -> None:
    """Extract the logs of an attempt that has ended, and record the extract's digest."""
    try:
        found, size = _extract(raw)
    except (OSError, EvidenceError) as error:
        history.append(
            ACTOR, Op.ENGINE, Outcome.UNKNOWN, attempt=attempt, proof={"reason": str(error)}
        )
        return
    run.engine.mkdir(exist_ok=True)
    path = run.engine / f"{attempt}.jsonl"
    write_whole(path, "".join(f"{json.dumps(one)}\n" for one in found.events))
    proof: dict[str, Any] = {
        "events": len(found.events),
        "sha256": file_digest(path),
        "spark": found.spark,
        "counts": found.counts,
        "log_bytes": size,
    }
    history.append(ACTOR, Op.ENGINE, attempt=attempt, proof=proof)


def _extract(raw: Path) -> tuple[Extract, int]:
    found, size = Extract(), 0
    for path in _logs(raw):
        size += path.stat().st_size
        with path.open("rb") as file:
            for line in file:
                found.take(line)
    if not found.spark:
        raise EvidenceError(NO_LOG)
    return found, size


def _logs(raw: Path) -> Iterator[Path]:
    """Yield the raw logs, those of a killed driver and rolled ones among them, in order."""
    for path in sorted(raw.rglob("*")):
        if path.is_file() and not path.name.startswith(("appstatus", ".")):
            yield path
