"""The phase that sends the workload and writes the ledger."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.checkpoint import log
from onceproof.documents import write_whole
from onceproof.errors import EvidenceError, StackError
from onceproof.kafka.security import Brokers
from onceproof.kafka.topics import look
from onceproof.machine.polling import wait_for
from onceproof.producing.children import Order, Producers
from onceproof.producing.clients import KafkaPython
from onceproof.producing.rows import Sends
from onceproof.producing.sending import Sending
from onceproof.producing.settling import settle
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import by_partition
from onceproof.runs.flows import Flow, by_query
from onceproof.runs.history import History
from onceproof.runs.ledger import Partition, query_parquet
from onceproof.runs.plan import LATEST, OVER, InputPart, Plan
from onceproof.runs.records import Op
from onceproof.workloads import find_workload

ACTOR = "produce"
_BEGUN = "_begun"
# Longer than any planned outage: a delivery timeout would void idempotence.
_LEAST_PATIENCE_S = 120.0
_RECORD_EVERY_S = 0.5
Progress = Callable[[int, int], None]
Position = Callable[[], Mapping[Partition, int]]


def produce(
    run: RunDirectory,
    plan: Plan,
    brokers: Brokers,
    *,
    is_over: Callable[[], bool],
    position: Position | None = None,
    progress: Progress | None = None,
) -> None:
    """Send all events, then the sentinel once the job has committed them; write the ledger.

    The inputs are sent concurrently, each to its part of the ledger. If a query starts at the
    latest offsets, wait for its start, as it does not read earlier events.

    `is_over` returns whether the job will commit no more, which ends the waiting. `position`
    returns the committed offsets, by default those of the archived checkpoint log. `progress` is
    called with the number of acknowledged events and the number of all events.

    A call after a complete one does nothing. An incomplete ledger raises `EvidenceError`.
    """
    if run.sent.exists():
        return
    _begin(run)
    if not plan.events:  # with a sentinel alone the input would not be empty
        _write_ends(run, {})
        return
    sender = _Sender(run, plan, brokers, is_over, progress or (lambda _done, _of: None))
    sender.wait_for_start()
    sender.send()
    if sender.has_committed(position):
        sender.send_sentinels()
    ends = {
        one.topic: settle(_ledger_of(run, plan, one), brokers, one.topic) for one in plan.inputs
    }
    _write_ends(run, ends)


def _ledger_of(run: RunDirectory, plan: Plan, one: InputPart) -> Path:
    """Return the folder of an input in the ledger; the ledger itself if it is the only one."""
    return run.ledger / one.name if len(plan.inputs) > 1 else run.ledger


def _write_ends(run: RunDirectory, ends: Mapping[str, Mapping[str, int]]) -> None:
    """Record that everything is sent; the ledger does not change after that."""
    write_whole(run.sent, json.dumps(ends) + "\n")


def committed(run: RunDirectory) -> Mapping[Partition, int]:
    """Return the committed offsets of the input by the archived checkpoint log.

    Return nothing for a log that a fault has damaged: the job's next attempt writes it again.
    """
    folder = run.checkpoint_log
    both = set(log.batches(folder / "offsets")) & set(log.batches(folder / "commits"))
    try:
        return by_partition(log.planned(folder, max(both)).offsets) if both else {}
    except EvidenceError:
        return {}


def _begin(run: RunDirectory) -> None:
    """Make the ledger's folder, and raise `EvidenceError` in every call but the first."""
    run.ledger.mkdir(parents=True, exist_ok=True)
    try:
        (run.ledger / _BEGUN).touch(exist_ok=False)
    except FileExistsError:
        raise EvidenceError(
            f"{run.ledger.name}/ is incomplete: an earlier call sent events that would be in the"
            " topic twice; start a new run"
        ) from None


@dataclass
class _Sender:
    run: RunDirectory
    plan: Plan
    brokers: Brokers
    is_over: Callable[[], bool]
    progress: Progress
    recorded_at: float = 0.0
    totals: dict[str, tuple[int, int]] = field(default_factory=dict)  # offered, acknowledged

    @property
    def patience_s(self) -> float:
        """The limit for the acknowledgement of a record."""
        return max(_LEAST_PATIENCE_S, self.plan.limits.run_s)

    def send(self) -> None:
        """Send all events of all inputs."""
        with ExitStack() as held:
            children = {one.name: held.enter_context(self._start(one)) for one in self.plan.inputs}

            def look_at_them() -> bool:
                done = [one.are_done() for one in children.values()]  # raises for one that failed
                is_done = all(done)
                self.totals = {name: one.totals() for name, one in children.items()}
                self._record(at_once=is_done)
                self._stop_if_over("the last event was sent", is_done)
                return is_done

            words = f"the workload of {', '.join(self.plan.topics)} was not sent in time"
            wait_for(look_at_them, self.plan.limits.run_s, words)

    def _start(self, read: InputPart) -> Producers:
        options = find_workload(read.workload).resolve(read.options)
        folder = _ledger_of(self.run, self.plan, read)
        folder.mkdir(exist_ok=True)
        order = Order.of(self.plan, read, options, self.brokers, folder, self.patience_s)
        logs = self.run.logs / ("" if folder == self.run.ledger else read.name)
        return Producers(order, options["producers"], logs)

    def has_committed(self, position: Position | None) -> bool:
        """Wait until each query has committed all records of its topics.

        Return False if the job ended before, in a run whose job must fail.
        """
        found = look(self.brokers, list(self.plan.topics))
        ends = {
            (topic, int(number)): bounds["end"]
            for topic in self.plan.topics
            for number, bounds in found[topic]["partitions"].items()
        }
        queries = by_query(self.run, self.plan).values()

        def has_covered(flow: Flow) -> bool:
            now = position() if position else committed(flow.run)
            return all(
                now.get(at, 0) >= end for at, end in ends.items() if at[0] in flow.plan.topics
            )

        def is_covered() -> tuple[bool] | None:
            is_done = all(map(has_covered, queries))
            self._stop_if_over("the workload was committed", is_done)
            return (is_done,) if is_done or self.is_over() else None

        words = "the job has not committed the workload in time"
        (is_done,) = wait_for(is_covered, self.plan.limits.run_s, words)
        return is_done

    def wait_for_start(self) -> None:
        """Wait until queries that start at the latest offsets have written where they start."""
        places = [
            flow.run.checkpoint
            for flow in by_query(self.run, self.plan).values()
            if flow.plan.query.starting == LATEST
        ]
        if not places:
            return

        def is_there() -> bool:
            is_done = all(map(log.first_offsets, places))
            self._stop_if_over("its query had written its first offsets", is_done)
            return is_done

        words = "the query has not written its first offsets in time"
        wait_for(is_there, self.plan.limits.run_s, words)

    def send_sentinels(self) -> None:
        """Send each workload's sentinel, if it has one: an event so late that windows close."""
        for read in self.plan.inputs:
            if self._sent_sentinel(read):
                offered, acknowledged = self.totals[read.name]
                self.totals[read.name] = (offered + 1, acknowledged + 1)
        self._record(at_once=True)

    def _sent_sentinel(self, read: InputPart) -> bool:
        folder, workload = _ledger_of(self.run, self.plan, read), find_workload(read.workload)
        newest = query_parquet(folder, "select max(event_ms) from {rows}")[0][0]
        events = workload.sentinel(workload.resolve(read.options), newest)
        if events is None:
            return False
        sends = Sends(events, self.plan.run, read.topic, read.partitions)
        with closing(KafkaPython(self.brokers, read.topic, self.patience_s)) as client:
            files = folder / "part-sentinel"
            wrong = Sending(client, files, self.plan.limits.run_s, lambda *_: None).run([sends])
        if wrong:
            raise StackError(
                f"the sentinel could not be sent, and the ledger is incomplete: {wrong}"
            )
        return True

    def _stop_if_over(self, event: str, is_done: bool) -> None:
        if not is_done and self.plan.ends == OVER and self.is_over():
            raise StackError(f"the job ended before {event}")

    def _record(self, *, at_once: bool) -> None:
        events = self.plan.events
        offered, acknowledged = (sum(one[at] for one in self.totals.values()) for at in (0, 1))
        self.progress(min(acknowledged, events), events)
        now = time.monotonic()
        if at_once or now >= self.recorded_at + _RECORD_EVERY_S:
            self.recorded_at = now
            proof: dict[str, Any] = {"offered": offered, "acknowledged": acknowledged}
            if len(self.totals) > 1:
                proof["by_input"] = {name: one[1] for name, one in self.totals.items()}
            History(self.run.history).append(ACTOR, Op.INPUT_PROGRESS, proof=proof)
