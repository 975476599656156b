"""The phase that sends the workload and writes the ledger."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
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
from onceproof.runs.history import History
from onceproof.runs.ledger import Partition, query_parquet
from onceproof.runs.plan import LATEST, OVER, Plan
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

    If the job starts at the latest offsets, wait for its start, as it does not read earlier events.

    `is_over` returns whether the job will commit no more, which ends the waiting. `position`
    returns the committed offsets, by default those of the archived checkpoint log. `progress` is
    called with the number of acknowledged events and the number of all events.

    A call after a complete one does nothing. An incomplete ledger raises `EvidenceError`.
    """
    if run.sent.exists():
        return
    options = find_workload(plan.input.workload).resolve(plan.input.options)
    _begin(run)
    sender = _Sender(run, plan, brokers, is_over, progress or (lambda _done, _of: None))
    if not options["events"]:  # with a sentinel alone the input would not be empty
        _write_ends(run, {})
        return
    if plan.query.starting == LATEST:
        sender.wait_for_start()
    sent = sender.send(options)
    if sender.has_committed(position or (lambda: committed(run))):
        sender.send_sentinel(sent, options)
    _write_ends(run, {plan.input.topic: settle(run.ledger, brokers, plan.input.topic)})


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

    @property
    def patience_s(self) -> float:
        """The limit for the acknowledgement of a record."""
        return max(_LEAST_PATIENCE_S, self.plan.limits.run_s)

    def send(self, options: Mapping[str, Any]) -> tuple[int, int]:
        """Send all events, and return the numbers of offered and of acknowledged records."""
        order = Order.of(self.plan, options, self.brokers, self.run.ledger, self.patience_s)
        with Producers(order, options["producers"], self.run.logs) as children:

            def look_at_them() -> bool:
                is_done = children.are_done()
                self._record(*children.totals(), at_once=is_done)
                self._stop_if_over("the last event was sent", is_done)
                return is_done

            words = f"the workload of {order.topic} was not sent in time"
            wait_for(look_at_them, self.plan.limits.run_s, words)
            return children.totals()

    def has_committed(self, position: Position) -> bool:
        """Wait until the job has committed all records of the topic.

        Return False if the job ended before, in a run whose job must fail.
        """
        topic = self.plan.input.topic
        ends = {
            (topic, int(number)): bounds["end"]
            for number, bounds in look(self.brokers, [topic])[topic]["partitions"].items()
        }

        def is_covered() -> tuple[bool] | None:
            now = position()
            is_done = all(now.get(at, 0) >= end for at, end in ends.items())
            self._stop_if_over("the workload was committed", is_done)
            return (is_done,) if is_done or self.is_over() else None

        words = "the job has not committed the workload in time"
        (is_done,) = wait_for(is_covered, self.plan.limits.run_s, words)
        return is_done

    def wait_for_start(self) -> None:
        """Wait until the query has written the offsets at which it starts."""

        def is_there() -> bool:
            is_done = bool(log.first_offsets(self.run.checkpoint))
            self._stop_if_over("its query had written its first offsets", is_done)
            return is_done

        words = "the query has not written its first offsets in time"
        wait_for(is_there, self.plan.limits.run_s, words)

    def send_sentinel(self, sent: tuple[int, int], options: Mapping[str, Any]) -> None:
        """Send the workload's sentinel, if it has one: an event so late that all windows close."""
        read = self.plan.input
        newest = query_parquet(self.run.ledger, "select max(event_ms) from {rows}")[0][0]
        events = find_workload(read.workload).sentinel(options, newest)
        if events is None:
            return
        sends = Sends(events, self.plan.run, read.topic, read.partitions)
        with closing(KafkaPython(self.brokers, read.topic, self.patience_s)) as client:
            files = self.run.ledger / "part-sentinel"
            wrong = Sending(client, files, self.plan.limits.run_s, lambda *_: None).run([sends])
        if wrong:
            raise StackError(
                f"the sentinel could not be sent, and the ledger is incomplete: {wrong}"
            )
        self._record(sent[0] + 1, sent[1] + 1, at_once=True)

    def _stop_if_over(self, event: str, is_done: bool) -> None:
        if not is_done and self.plan.ends == OVER and self.is_over():
            raise StackError(f"the job ended before {event}")

    def _record(self, offered: int, acknowledged: int, *, at_once: bool) -> None:
        events = self.plan.input.events
        self.progress(min(acknowledged, events), events)
        now = time.monotonic()
        if at_once or now >= self.recorded_at + _RECORD_EVERY_S:
            self.recorded_at = now
            proof = {"offered": offered, "acknowledged": acknowledged}
            History(self.run.history).append(ACTOR, Op.INPUT_PROGRESS, proof=proof)
