"""Which input each committed batch read, as the archived offset log tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onceproof.checkpoint.log import Planned, batches, newest, planned
from onceproof.errors import EvidenceError


@dataclass(frozen=True)
class Range:
    """The records that one batch read of one partition: from `begin` up to `end`, exclusive."""

    topic: str
    partition: int
    begin: int
    end: int
    batch: int


def committed_batches(folder: Path) -> list[Planned]:
    """Return every batch from 0 to the newest that was committed, or raise `EvidenceError`.

    A log that begins later was purged: what its oldest batch read could not be told.
    """
    _, last = newest(folder)
    if last < 0:
        raise EvidenceError(f"{folder.name}/ has no commit: no batch was ever finished")
    there = set(batches(folder / "offsets"))
    if missing := [batch for batch in range(last + 1) if batch not in there]:
        raise EvidenceError(
            f"{folder.name}/ has no offsets of batch {missing[0]}, and batch {last} was committed:"
            " the log was purged before it was archived"
        )
    return [planned(folder, batch) for batch in range(last + 1)]


def ranges(log: list[Planned]) -> list[Range]:
    """Return what each batch read, empty ranges left out; a log that goes back is refused."""
    found = []
    ends: dict[tuple[str, str], int] = {}
    for step in log:
        for topic, partitions in step.offsets.items():
            for partition, end in partitions.items():
                begin = ends.get((topic, partition), 0)
                if end < begin:
                    raise EvidenceError(
                        f"the offset log goes back: {topic}-{partition} was at {begin:,}, and batch"
                        f" {step.batch} ends at {end:,}"
                    )
                if end > begin:
                    found.append(Range(topic, int(partition), begin, end, step.batch))
                ends[topic, partition] = end
    if not found:
        raise EvidenceError("the offset log tells of no record of a Kafka topic")
    return found


def position(log: list[Planned]) -> dict[tuple[str, int], int]:
    """Return the next offset of each partition after the last batch."""
    return {(one.topic, one.partition): one.end for one in ranges(log)}
