"""The progress of a run by its archive, history and sink; for triggers, never as proof."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from onceproof.checkpoint.archive import Archive
from onceproof.documents import read_object
from onceproof.runs.evidence import acknowledged, by_partition
from onceproof.runs.flows import Flow
from onceproof.runs.records import Op
from onceproof.sinks import Sink


class InputProgress:
    """The producer's newest progress record; each call reads only what was appended since."""

    def __init__(self, history: Path) -> None:
        self._path = history
        self._place = 0
        self._last: Mapping[str, Any] = {"offered": 0, "acknowledged": 0}

    def acknowledged(self, inputs: Collection[str]) -> int:
        """Return the number of acknowledged records of some inputs."""
        with self._path.open("rb") as file:
            file.seek(self._place)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._place += len(line)
                if Op.INPUT_PROGRESS.encode() in line:
                    record = json.loads(line)
                    if record["op"] == Op.INPUT_PROGRESS and record["outcome"] == "ok":
                        self._last = record["proof"]
        return acknowledged(self._last, inputs)


class RunProgress:
    """The progress as one fault's triggers see it; each fault has its own, with its own reader.

    It is that of the flow that the fault is about; shares are of the flow's inputs.
    """

    def __init__(self, flow: Flow, archive: Archive, sink: Sink) -> None:
        self._archive, self._sink, self._events = archive, sink, max(1, flow.plan.events)
        self._input = InputProgress(flow.run.history)
        self._inputs = {one.name for one in flow.plan.inputs}
        self._reader: Any = None
        self._seen: dict[int, int] = {}
        self._looked_at: int | None = None

    def acknowledged(self) -> float:
        """Return the share of the input that the brokers have acknowledged."""
        return self._input.acknowledged(self._inputs) / self._events

    def committed(self) -> float:
        """Return the share of the input that the job has committed."""
        return committed_records(self._archive) / self._events

    def newest(self) -> tuple[int, int]:
        """Return the newest batch planned and the newest committed, -1 for an empty log."""
        self._archive.catch_up()
        return self._archive.newest

    def open_batch(self) -> int | None:
        """Return the batch that is planned and not committed, if there is one."""
        planned, committed = self.newest()
        return planned if planned > committed else None

    def visible(self, batch: int) -> int:
        """Return the number of visible rows of a batch.

        Rows without a batch count for the batch that is open when they become visible, except those
        of the first look in it, which were visible before.
        """
        import pyarrow.compute as pc

        if self._reader is None:
            self._reader = self._sink.reader()
        rows = self._reader.look().rows
        is_first, self._looked_at = batch != self._looked_at, batch
        came = rows.filter(pc.greater(rows["copies"], 0))
        for one in came["batch"].to_pylist():
            if one is not None or not is_first:
                of = batch if one is None else one
                self._seen[of] = self._seen.get(of, 0) + 1
        return self._seen.get(batch, 0)

    def close(self) -> None:
        """Close the reader of the sink."""
        if self._reader is not None:
            self._reader.close()


def committed_records(archive: Archive) -> int:
    """Return the number of offsets before the newest commit."""
    return sum(sum(partitions.values()) for partitions in archive.position().values())


def is_over(flow: Flow, archive: Archive) -> bool:
    """Whether a query's newest commit covers its inputs, and no batch without data is due.

    The sentinel moves the watermark once more, and a batch without data then closes windows. So
    the newest commit's next watermark must be equal to the watermark of its batch.
    """
    if not flow.run.sent.exists():
        return False
    planned, committed = archive.newest
    ends = by_partition(read_object(flow.run.sent))
    sent = {place: end for place, end in ends.items() if place[0] in flow.plan.topics}
    if planned != committed or committed < 0:
        return not sent  # no input, no batch
    position = by_partition(archive.planned[planned].offsets)
    if any(position.get(place, 0) < end for place, end in sent.items()):
        return False
    has_state = (flow.run.checkpoint / "state").exists()
    moves = archive.committed[committed].next_watermark_ms != archive.planned[planned].watermark_ms
    return not (has_state and moves)
