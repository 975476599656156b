"""File sinks driven without Spark: tasks are called one by one, and crashes are exceptions."""

import os
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as parquet

from onceproof.sinks import Target, find_sink
from onceproof.sinks.files.parquet_rows import schema, signed
from onceproof.sinks.in_spark.part_tasks import write_part
from onceproof.sinks.protocol import Part
from tests.unit.handwritten_checkpoint import write_checkpoint

COLUMNS = {"app": "string", "views": "bigint"}
PARTITIONS = (["a", "b"], ["c"], [])
PARTS = sum(map(bool, PARTITIONS))
ROWS = sum(map(len, PARTITIONS))


class CrashError(Exception):
    """A crash of the process."""


class Frame:
    """A batch of rows in partitions; `drained` is set when its plan is run without a sink."""

    columns = tuple(COLUMNS)

    def __init__(self, partitions):
        self.partitions = partitions
        self.drained = False
        self.write = self

    def format(self, name):
        self.drained = name == "noop"
        return self

    def mode(self, name):
        return self

    def save(self):
        pass


def frame(batch, partitions=PARTITIONS):
    """Return the rows of a batch, in partitions: apps, with the batch as their views."""
    return Frame([[(app, batch) for app in apps] for apps in partitions])


def write_parts(target, given, batch, begin, writer, epoch):
    """Run each task once, as executors do."""
    parts = []
    for number, rows in enumerate(given.partitions):
        part = Part(writer, epoch, target.attempt, batch, number, number)
        if write_part(iter([arrow(target, rows, batch)] if rows else []), part, begin):
            parts.append(part)
    return parts


def arrow(target, rows, batch):
    cells = zip(*rows, strict=True) if rows else ((), ())
    wanted = schema(target)
    arrays = [pa.array(cell, wanted.field(nth).type) for nth, cell in enumerate(cells)]
    return signed(pa.record_batch(arrays, names=list(COLUMNS)), target, batch)


class Scene:
    """One sink, its checkpoint, and its attempts."""

    def __init__(self, name, folder, monkeypatch):
        self.kind = find_sink(name)
        self.monkeypatch = monkeypatch
        for module in ("in_spark.part_tasks", "files.batch_folder"):
            monkeypatch.setattr(f"onceproof.sinks.{module}.write_parts", write_parts)
        self.checkpoint = write_checkpoint(folder / "checkpoint")
        self.target = Target(
            str(folder), "output", COLUMNS, ("app",), checkpoint=str(self.checkpoint)
        )
        self.root = folder / "output"
        self.attempts = 0
        self.sink().prepare()

    def sink(self, attempt=0):
        return self.kind(replace(self.target, attempt=attempt))

    def attempt(self):
        """Recover, and return the sink of the next start of the job."""
        self.attempts += 1
        if self.attempts > 1:
            self.sink().recover()
        return self.sink(self.attempts)

    def crash_at(self, name, batch, then=None):
        """Crash the process when it first reaches a step of a batch."""

        def reached(step, of, **_):
            self.visited.append(step)
            if (step, of) == (name, batch) and not self.has_crashed:
                self.has_crashed = True
                if then:
                    then()
                else:
                    raise CrashError(name)

        self.has_crashed, self.visited = False, []
        self.monkeypatch.setattr("onceproof.failpoints.reached", reached)
        armed = ("task_mid", batch)
        self.monkeypatch.setattr(
            "onceproof.failpoints.is_armed", lambda *step: step == armed == (name, batch)
        )

    def seen(self):
        """Return the visible rows: app, views, batch, attempt, in order."""
        self.sink().read(self.root.parent / "read")
        found = parquet.read_table(self.root.parent / "read").to_pylist()
        return sorted(tuple(row.values()) for row in found)

    def staged(self):
        """Return all files beside data/ that are not decisions."""
        return [
            os.path.relpath(os.path.join(at, name), self.root)
            for at, _, names in os.walk(self.root)
            for name in names
            if not at.startswith(str(self.root / "data")) and not name.endswith(".json")
        ]


def expected(batches):
    """Return the rows of whole batches, without batch and attempt."""
    return sorted((app, batch) for batch in batches for apps in PARTITIONS for app in apps)


def without_writer(rows):
    return [row[:2] for row in rows]
