"""Spark's own parquet sink, unchanged: files in a folder, and a manifest of the committed ones.

It supports append mode only. Readers must use the manifest, as Spark does: a listing of the folder
also has files that were never committed, and duplicates of a batch that was written twice.

`_spark_metadata/<batch>` lists the files that a batch added; every tenth, `<batch>.compact`, lists
the files of all batches. A file in the folder that is in no list was never committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from onceproof.checkpoint import log
from onceproof.errors import RequestError, StackError
from onceproof.guarantee import Guarantee
from onceproof.runs.plan import Writes
from onceproof.sinks import Reader, Target
from onceproof.sinks.files.folders import File, data_of, drop, make
from onceproof.sinks.files.reader import FolderReader, read
from onceproof.sinks.protocol.checkpoint_folder import CheckpointFolder

_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_KEEP_LISTS = "spark.sql.streaming.fileSink.log.deletion"
_STATEFUL = {
    *("Aggregate", "Deduplicate", "DeduplicateWithinWatermark", "Distinct", "GlobalLimit"),
    *("FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState", "TransformWithState"),
    *("TransformWithStateInPandas", "TransformWithStateInPySpark"),
}
MANIFEST = "_spark_metadata"
_COMPACT = ".compact"


@dataclass(frozen=True)
class SparkFiles:
    """A folder that a query of `format("parquet")` writes to."""

    target: Target

    family = "idempotent"
    store = "files"
    guarantee = Guarantee.EXACTLY_ONCE
    atomic_batches = True
    ordered = False
    writes = Writes.APPEND
    modes: ClassVar = ("append",)
    steps: ClassVar = ()

    def prepare(self) -> None:
        """Create the folder."""
        make(self.target)

    def start(self, rows: Any, mode: str, trigger: str) -> Any:
        """Start the query; raises for a query that could not be restarted after a crash."""
        from pyspark.sql import functions as F

        if mode != "append":
            raise RequestError(
                f"output mode {mode} is not supported by Spark's file sink; use append mode or"
                " another sink"
            )
        if missing := [name for name in self.target.columns if name not in rows.columns]:
            raise RequestError(
                f"the stream has no column {missing[0]}; it must have"
                f" {', '.join(self.target.columns)}"
            )
        session = rows.sparkSession
        refuse_checkpoint(self.target)
        if is_stateful(rows._jdf.queryExecution().analyzed()):
            refuse_format(self.target, session.conf.get(_FORMAT, "1"))
        session.conf.set(_KEEP_LISTS, "false")  # the lists show which batch has written a file
        attempt = F.lit(self.target.attempt).cast("bigint").alias("_attempt")
        quoted = (f"`{name.replace('`', '``')}`" for name in self.target.columns)
        return (
            rows.select(*quoted, attempt)
            .writeStream.format("parquet")
            .outputMode(mode)
            .option("path", str(data_of(self.target)))
            .option("checkpointLocation", self.target.checkpoint)
            .trigger(processingTime=trigger)
            .start()
        )

    def write(self, frame: Any, batch: int) -> None:  # noqa: ARG002
        """Raise `RequestError`: Spark's own query writes."""
        raise RequestError(f"batch {batch} cannot be written by `foreachBatch`; call `start`")

    def recover(self) -> Mapping[str, Any]:
        """Return an empty mapping: files of crashed attempts are in no list, and remain."""
        return {}

    def open(self) -> tuple[int, int]:
        """Return (0, 0): a batch enters the manifest in one step."""
        return 0, 0

    def reader(self) -> Reader:
        """Return a reader that polls the manifest."""
        return FolderReader(self.target, Manifest(data_of(self.target)).files)

    def read(self, folder: Path) -> tuple[int, str]:
        """Write the rows of all committed files as one file."""
        return read(self.target, Manifest(data_of(self.target)).files, folder)

    def drop(self) -> None:
        """Remove the folder."""
        drop(self.target)


def refuse_checkpoint(target: Target) -> None:
    """Raise if the manifest has batches that the checkpoint has not planned.

    Spark identifies a batch by its number alone, so it would skip these batches whatever their
    input is now.
    """
    planned, _ = log.newest(CheckpointFolder(target.checkpoint).folder)
    committed = Manifest(data_of(target)).newest()
    if committed > planned:
        raise RequestError(
            f"{MANIFEST} of {target.name} has batch {committed}, but the newest batch that the"
            f" checkpoint has planned is {planned}: it was lost, or is an old copy, and Spark would"
            " silently skip all batches in between. To start over, empty the target; to continue,"
            " restore the checkpoint"
        )


def refuse_format(target: Target, version: str) -> None:
    """Raise for a stateful query whose state has format 2 in the checkpoint.

    With this format the commit log names the state's files. The replay of a batch that is in the
    manifest but not in the commit log is skipped and names no files, so the query never starts
    again.
    """
    folder = CheckpointFolder(target.checkpoint).folder
    newest, _ = log.newest(folder)
    if newest >= 0:
        version = log.planned(folder, newest).settings.get(_FORMAT, "1")
    if version != "1":
        raise RequestError(
            f"{_FORMAT} is {version}: with it a stateful query does not survive a crash between the"
            " commit of Spark's file sink and the commit log; set it to 1, or use another sink"
        )


def is_stateful(plan: Any) -> bool:
    """Whether a logical plan of Spark keeps state from batch to batch."""
    return any(
        one.nodeName() in _STATEFUL
        or (one.nodeName() == "Join" and all(side.isStreaming() for side in _children(one)))
        for one in _streaming(plan)
    )


def _streaming(plan: Any) -> Iterator[Any]:
    if plan.isStreaming():
        yield plan
    for one in _children(plan):
        yield from _streaming(one)


def _children(plan: Any) -> list[Any]:
    found = plan.children()
    return [found.apply(nth) for nth in range(found.size())]


@dataclass
class Manifest:
    """The manifest's lists in a data folder; each is read once."""

    data: Path
    _files: dict[str, File] = field(default_factory=dict)
    _read: set[int] = field(default_factory=set)

    def newest(self) -> int:
        """Return the newest committed batch, -1 without a commit."""
        return max(self._lists(), default=-1)

    def files(self) -> Mapping[str, File]:
        """Return all committed files; a file's batch is None if Spark has removed its list."""
        lists = self._lists()
        for batch in sorted(lists.keys() - self._read):
            # after all earlier lists, the new files of a compact list are those of its batch
            has_earlier = set(range(batch)) <= self._read
            is_own = has_earlier or not lists[batch].endswith(_COMPACT)
            for path in _entries(self.data / MANIFEST / lists[batch]):
                if path.name not in self._files:
                    self._files[path.name] = File.of(path, batch if is_own else None)
            self._read.add(batch)
        return self._files

    def _lists(self) -> dict[int, str]:
        folder = self.data / MANIFEST
        names = os.listdir(folder) if folder.is_dir() else []
        found = {name.removesuffix(_COMPACT): name for name in sorted(names)}
        return {int(batch): name for batch, name in found.items() if batch.isdigit()}


def _entries(path: Path) -> list[Path]:
    try:
        version, *lines = path.read_text(encoding="utf-8").splitlines()
        if version != "v1":
            raise ValueError(f"unknown version {version!r}, expected v1")
        entries = [json.loads(line) for line in lines]
        added = [entry["path"] for entry in entries if entry["action"] == "add"]
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StackError(f"{MANIFEST}/{path.name} cannot be read: {error}") from None
    return [Path(unquote(urlsplit(one).path)) for one in added]
