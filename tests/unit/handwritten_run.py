"""Runs written by hand for tests: a good one of six rows, to be spoiled in one place."""

import copy
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from onceproof.faults.triggers import sentence
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence
from onceproof.runs.ledger import content_digest
from onceproof.runs.parts import USED, made_of, used_by
from onceproof.runs.records import Op, Outcome, Record, to_line
from tests.plans import input_of, output_of, plan_document
from tests.unit.handwritten_checkpoint import write_file

READS = pa.schema(
    [(name, pa.int64()) for name in ("poll", "copies")]
    + [(name, pa.string()) for name in ("key", "value")]
    + [(name, pa.int64()) for name in ("version", "position", "batch", "attempt")]
)
LEDGER = pa.schema(
    [(name, pa.string()) for name in ("topic", "kind")]
    + [(name, pa.int64()) for name in ("partition", "offset", "event_ms")]
)
COLUMNS = {"key": "string", "value": "string", "version": "bigint"}
ROWS = pa.schema(
    [(name, pa.string()) for name in ("key", "value")]
    + [(name, pa.int64()) for name in ("version", "_batch", "_attempt")]
)
DELAY_MS = 2000
NO_DIFFERENCE = {"lost": 0, "duplicated": 0, "unexpected": 0, "changed": 0}


def plan(**changes: Any) -> dict[str, Any]:
    """A plan: exactly-once, upserts, one kill; sink fields may be given like the others."""
    output = {
        "sink": "two_phase_table",
        "guarantee": "exactly-once",
        "reference": "references:WINDOW_TOTALS",
        "versioned": True,
        "writes": "upsert",
        "family": "two_phase",
    } | changes.pop("output", {})
    traits = ("atomic_batches", "ordered", "versioned", "writes", "family")
    output |= {name: changes.pop(name) for name in traits if name in changes}
    read = {"workload": "orders", "topic": "events", "options": {}} | changes.pop("input", {})
    kill = fault("kill_driver", "kill", "driver", failpoint="decided", batch=1)
    return plan_document(
        output=output,
        input=read,
        job={"name": "window_totals"},
        query={"job": "window_totals"},
        **{
            "scenario": "window_totals__two_phase_table__kill_driver",
            "run": "window_totals_7",
            "faults": [kill],
            "versions": {"onceproof": "0.1.0", "spark": "4.2.0"},
            "replay": "onceproof run window_totals__two_phase_table__kill_driver --seed 7",
        }
        | changes,
    )


def fault(name: str, verb: str, target: str, how: Any = None, **when: Any) -> dict[str, Any]:
    """One fault of a plan, as the phase that plans writes it."""
    fields = {"name": name, "verb": verb, "target": target, "when": when, "how": how or {}}
    return fields | {"trigger": sentence(when)}


def control(*anomalies: str, **changes: Any) -> dict[str, Any]:
    """The plan of a negative control that must show these anomalies."""
    return plan(claims="FAIL", anomalies=list(anomalies), **changes)


def driver(attempt: int) -> dict[str, int]:
    """The process that each attempt is."""
    return {"pid": 4710 + attempt, "started": attempt}


def did(op: str, actor: str = "onceproof", outcome: str = "ok", **fields: Any) -> dict[str, Any]:
    """One record but for its number and clocks; `batch` and `attempt` are its own."""
    own = {name: fields.pop(name) for name in ("batch", "attempt") if name in fields}
    if op == "attempt.start":
        checked = {"checkpoint": []} if own["attempt"] > 1 and "beside" not in fields else {}
        fields = driver(own["attempt"]) | checked | fields
    elif op == "attempt.end":
        reason = "over" if outcome == "ok" else "its process ended"
        fields = {"reason": reason, "pid": driver(own["attempt"])["pid"]} | fields
    return {"op": op, "actor": actor, "outcome": outcome, **own, "proof": fields}


def saw(poll: int, key: Any, version: Any = 1, **columns: Any) -> dict[str, Any]:
    """One row that came into sight (`copies=-1`: one that is gone)."""
    row = {"poll": poll, "copies": 1, "key": key, "value": f"{key}={version}", "version": version}
    return row | {"position": None, "batch": 0, "attempt": 1} | columns


def topics(end: int, start: int = 0, topic_id: str = "A") -> dict[str, Any]:
    """The proof of a look at the input topics."""
    partitions = {"0": {"start": start, "end": end}}
    return {"topics": {"events": {"id": topic_id, "partitions": partitions}}}


def offsets(next_offset: int) -> dict[str, Any]:
    return {"offsets": {"events": {"0": next_offset}}}


DRIVER = driver(1)


def struck(name: str, batch: int = 1, step: str = "decided", **proof: Any) -> dict[str, Any]:
    """A strike at a failpoint of a batch that is planned and not committed; it killed a driver."""
    moment = {"name": step, "batch": batch, "pid": DRIVER["pid"]}
    fields = {"dead": [DRIVER], "failpoint": step, "moment": moment}
    fields |= {"planned": batch, "committed": batch - 1} | proof
    return did("fault.strike", name, batch=batch, **fields)


STRIKE = struck("kill_driver")


def good_history() -> list[dict[str, Any]]:
    """Two batches of three rows; the driver is killed in the second, attempt 2 repeats it."""
    return [
        did("input.topics", **topics(0)),
        did("attempt.start", "supervisor", attempt=1, **DRIVER),
        did("input.progress", "produce", offered=6, acknowledged=6),
        did("batch.offsets", "archiver", batch=0, **offsets(3)),
        did("batch.commit", "archiver", batch=0),
        did("poll", "reader", poll=1, rows=3),
        did("batch.offsets", "archiver", batch=1, **offsets(6)),
        STRIKE,
        did("attempt.end", "supervisor", "failed", attempt=1),
        did("attempt.start", "supervisor", attempt=2),
        did("poll", "reader", poll=2, rows=0),
        did("batch.commit", "archiver", batch=1),
        did("attempt.end", "supervisor", attempt=2),
        did("sink.recover", "sink"),
        did("sink.open", "observe", open=0, hidden=0),
        did("input.topics", **topics(7)),
        did("poll", "reader", poll=3, rows=3),
        did("read", "observe", rows=6, digest="d1"),
        did("read", "observe", rows=6, digest="d1"),
    ]


def good_reads() -> list[dict[str, Any]]:
    first = [saw(1, key) for key in ("a", "b", "c")]
    return first + [saw(3, key, 2, batch=1, attempt=2) for key in ("d", "e", "f")]


def event_ms(offset: int) -> int:
    """Each event is a second after the one before."""
    return 10_000 + 1000 * offset


def good_recomputed() -> dict[str, Any]:
    """What the references said: nothing was late, and the engine's state is as it must be."""
    state = {"expected": 2, "found": 2, "differ": 0, "samples": []}
    fields = {"expected": 6, "late": 0, "delay_ms": DELAY_MS, "rests_on_log": True, "state": state}
    return {"schema": 2} | fields


def expected_of(
    column: str, anomaly: str | None, wrong: Any = 0, error: str = ""
) -> dict[str, Any]:
    """What became of one expectation; `wrong` is a count where it does not hold."""
    fields = {"type": "expect_column_values_to_be_between", "kwargs": {"column": column}}
    seen = {"unexpected": bool(wrong), "samples": [wrong] if wrong else [], "observed": None}
    return fields | {"anomaly": anomaly, "success": not wrong and not error, "error": error} | seen


def validation(differences: dict[str, Any], observed: int) -> dict[str, Any]:
    """What the suites say of these differences, and of rows that are otherwise as expected."""
    counts = [expected_of(name, name, differences.get(name, 0)) for name in NO_DIFFERENCE]
    suites = [
        {"on": "differences", "suite": "differences", "rows": 1, "results": counts},
        {
            "on": "observed",
            "suite": "totals",
            "rows": observed,
            "results": [expected_of("n", None)],
        },
    ]
    return {"suites": suites, "seconds": 0.1}


@dataclass
class HandwrittenRun:
    """All parts of a run's directory as plain data; `write` makes the directory."""

    plan: Any = field(default_factory=plan)
    history: list[dict[str, Any]] = field(default_factory=good_history)
    reads: list[dict[str, Any]] | None = field(default_factory=good_reads)
    ledger: list[int | None] | None = field(default_factory=lambda: list(range(6)))
    sentinels: int = 0
    differences: dict[str, Any] = field(default_factory=NO_DIFFERENCE.copy)
    samples: list[Any] = field(default_factory=list)
    expected: int = 6
    observed: int = 6
    recomputed: dict[str, Any] = field(default_factory=good_recomputed)
    validation: dict[str, Any] | None = None
    clocks: Any = None
    is_tied: bool = True

    def lose_a_row(self) -> None:
        """Take the last row from all that was seen of the sink, as the comparison finds."""
        self.differences["lost"], self.observed = 1, 5
        assert self.reads
        self.reads.pop()
        for record in self.history:
            if record["op"] == "read":
                record["proof"]["rows"] = 5
            elif record["proof"].get("poll") == 3:
                record["proof"]["rows"] = 2

    def write(self, folder: Path) -> Evidence:
        """Make the directory; what phases record of each other's parts is filled in."""
        run = RunDirectory(folder)
        run.differences.mkdir(parents=True, exist_ok=True)
        run.plan.write_text(json.dumps(self._whole_plan()))
        for one in self.history:
            moment = one["proof"].get("moment", {})
            if one["op"] == "fault.strike" and "pid" in moment:
                run.failpoints.mkdir(exist_ok=True)
                (run.failpoints / f"{one['actor']}.reached").write_text(json.dumps(moment))
        if self.reads is not None:
            write_rows(run.reads, [as_text(row) for row in self.reads], READS)
        if self.ledger is not None:
            write_rows(run.ledger, self._sent(), LEDGER)
        batches, logged = write_logs(self.history, run)
        write_rows(run.expected, [{"key": str(n)} for n in range(self.expected)], ROWS)
        write_rows(run.observed, self._last_seen(), ROWS)
        self._write_documents(run, batches)
        run.history.write_bytes(b"".join(self.lines(run, logged)))
        return Evidence(run)

    def _whole_plan(self) -> Any:
        if not isinstance(self.plan, dict) or not self.plan.get("queries"):
            return self.plan
        plan = copy.deepcopy(self.plan)
        recomputed, key, output, read = self.recomputed, ["key"], output_of(plan), input_of(plan)
        is_added = output["writes"] == "append"
        rows = {
            "columns": COLUMNS,
            "key": key,
            "version": "version",
            "compared_by": [*key, *(["version"] if is_added else [])],
            "delay_ms": recomputed.get("delay_ms"),
            "rests_on_log": recomputed.get("rests_on_log"),
            "keeps_state": bool(recomputed.get("state")),
        }
        output["rows"] = rows if output["rows"] is None else output["rows"]
        read["options"] = {"events": len(self.ledger or []) - self.sentinels} | read["options"]
        return plan

    def _sent(self) -> list[dict[str, Any]]:
        sent = [{"topic": "events", "partition": 0, "offset": at} for at in self.ledger or []]
        sent = [row | {"event_ms": event_ms(row["offset"] or 0)} for row in sent]
        for nth, row in enumerate(sent, 1):
            row["kind"] = "sentinel" if nth > len(sent) - self.sentinels else "event"
        return sent

    def _last_seen(self) -> list[dict[str, Any]]:
        """As many rows as are observed: those that the reader saw last, as far as they go."""
        seen: Counter[tuple[Any, ...]] = Counter()
        for row in self.reads or []:
            (key,) = json.loads(as_text(row)["key"])
            rest = (row[name] for name in ("value", "version", "batch", "attempt"))
            seen[key, *rest] += row["copies"] or 0
        found = [dict(zip(ROWS.names, row, strict=True)) for row in seen.elements()]
        return (found + [{"key": str(n)} for n in range(self.observed)])[: self.observed]

    def _write_documents(self, run: RunDirectory, batches: int) -> None:
        """Write recomputed.json, the summary of differences, and validation.json."""
        name = str(self.plan["run"]) if isinstance(self.plan, dict) else "nothing"
        sent = [at for at in self.ledger or [] if at is not None]
        covered = sum(at < committed_end(self.history) for at in sent)
        document = {"batches": batches, "covered": covered, "uncovered": len(sent) - covered}
        document |= made_of(run, "recomputed", name) | self.recomputed
        if isinstance(document.get("state"), dict):
            document["state"] = {"batch": batches - 1} | document["state"]
        run.recomputed.write_text(json.dumps(document))
        counts = {"expected": self.expected, "observed": self.observed}
        summary = {"differences": self.differences, "samples": self.samples, "rows": counts}
        summary |= made_of(run, "differences", name) | {"columns": self._compared()}
        run.summary.write_text(json.dumps(summary))
        held = self.validation or validation(self.differences, self.observed)
        run.validation.write_text(json.dumps(made_of(run, "validation", name) | held))

    def _compared(self) -> dict[str, Any]:
        whole = self._whole_plan()
        is_plan = isinstance(whole, dict) and whole.get("queries")
        key = (output_of(whole)["rows"] or {}).get("compared_by", []) if is_plan else []
        values = [name for name in COLUMNS if name not in key]
        return {"key": key, "values": values, "ignored": ["_batch", "_attempt"], "tolerance": {}}

    def lines(self, run: RunDirectory, logged: dict[tuple[str, int], Any]) -> list[bytes]:
        """The records; phases that are not among them ended well, after all others."""
        there = {one["actor"] for one in self.history if one["op"].startswith("phase.")}
        ended = [did("phase.end", name) for name in USED if name not in there]
        reads = [one["proof"] for one in self.history if one["op"] == "read" and one["proof"]]
        last = reads[-1].get("digest") if reads else None
        lines = []
        for seq, one in enumerate([*self.history, *(ended if self.is_tied else [])], 1):
            proof = dict(one["proof"])
            if one["op"] == "poll" and one["outcome"] == "ok":
                proof.setdefault("since", seq - 1)
            if one["op"] == "read" and proof.get("digest") == last:
                proof["digest"] = content_digest(run.observed) if self.observed else last
            if one["op"] == "phase.end" and one["outcome"] == "ok" and self.is_tied:
                proof = used_by(run, one["actor"]) | proof
            if one["outcome"] == "ok":
                proof = logged.get((one["op"], one.get("batch")), {}) | proof
            clock = min(seq, len(self.history))
            mono, wall = self.clocks(clock) if self.clocks else (100 + clock / 2, 1.7e9 + clock / 2)
            own = {name: one.get(name) for name in ("batch", "attempt")}
            outcome = Outcome(one["outcome"])
            record = Record(
                seq, mono, wall, one["actor"], Op(one["op"]), outcome, **own, proof=proof
            )
            lines.append(to_line(record))
        return lines


def as_text(row: dict[str, Any]) -> dict[str, Any]:
    """A row of reads/ as a reader writes it: its key and its values are texts of JSON."""
    key = str(row["key"])
    return row | {
        "key": key if key.startswith("[") else json.dumps([row["key"]]),
        "value": json.dumps([row["value"], row["version"]]),
    }


def committed_end(history: list[dict[str, Any]]) -> int:
    """Up to where the last batch that was committed has read the one partition."""
    done = [one["batch"] for one in history if one["op"] == "batch.commit"]
    ends = [
        one["proof"].get("offsets", {}).get("events", {}).get("0", 0)
        for one in history
        if one["op"] == "batch.offsets" and done and one["batch"] == max(done)
    ]
    return ends[-1] if ends else 0


def write_logs(history: list[dict[str, Any]], run: RunDirectory) -> tuple[int, dict[Any, Any]]:
    """Write the checkpoint's logs as in the history, and their archive.

    Return the number of commits, and the watermarks that the history records beside each.
    """
    logged: dict[Any, Any] = {}
    offsets = {one["batch"]: one for one in history if one["op"] == "batch.offsets"}
    done = {one["batch"] for one in history if one["op"] == "batch.commit"}
    watermark = 0
    write_file(run.checkpoint / "metadata", '{"id": "4be1f70a"}')
    for batch, one in sorted(offsets.items()):
        ends = one["proof"].get("offsets") or {}
        end = ends.get("events", {}).get("0", 0)
        after = max(watermark, event_ms(end - 1) - DELAY_MS if end else 0)
        head = {"batchWatermarkMs": watermark, "batchTimestampMs": 1, "conf": {}}
        texts = {"offsets": "\n".join(["v1", json.dumps(head), json.dumps(ends)])}
        if batch in done:
            texts["commits"] = "v1\n" + json.dumps({"nextBatchWatermarkMs": after})
        for name, text in texts.items():
            write_file(run.checkpoint / name / str(batch), text)
            write_file(run.checkpoint_log / name / str(batch), text)
        logged["batch.offsets", batch] = {"watermark_ms": watermark}
        logged["batch.commit", batch] = {"next_watermark_ms": after}
        watermark = after
    return len(done), logged


def write_rows(folder: Path, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows, schema), folder / "part-0.parquet")
