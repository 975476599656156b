"""What the driver does alike in every sink that remembers its batches."""

from __future__ import annotations

from typing import Any

from onceproof.sinks import Target
from onceproof.sinks.in_spark.part_tasks import Begin, write_parts
from onceproof.sinks.in_spark.task_rows import drain
from onceproof.sinks.protocol import Memory
from onceproof.sinks.protocol.checkpoint_folder import CheckpointFolder
from onceproof.sinks.protocol.two_phase import TwoPhase
from onceproof.sinks.protocol.wal import Wal
from onceproof.sinks.protocol.writer import Writer


def writer_of(target: Target, name: str, memory: Memory) -> Writer:
    """Return the writer of one run, beside the checkpoint that its query writes."""
    return Writer(name, target.attempt, memory, CheckpointFolder(target.checkpoint))


def write_by_parts(
    run: TwoPhase | Wal, target: Target, frame: Any, batch: int, begin: Begin
) -> None:
    """Write a batch by its protocol; of one that was decided before only the plan is run."""
    name = run.writer.name
    run.write(
        batch,
        lambda epoch: write_parts(target, frame, batch, begin, name, epoch),
        lambda: drain(frame),
    )
