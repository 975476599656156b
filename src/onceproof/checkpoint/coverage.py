"""The input that each batch read, by the archived offset log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onceproof.checkpoint.log import Planned, batches, first_offsets, newest, planned
from onceproof.errors import EvidenceError


@dataclass(frozen=True)
class Range:
    """The records that one batch read from one partition: from `begin` up to `end`, exclusive.

    With `is_read` false, records that a query skipped: they are before its first offsets.
    """

    topic: str
    partition: int
    begin: int
    end: int
    batch: int
    query: int = 0
    is_read: bool = True


def committed_batches(folder: Path) -> list[Planned]:
    """Return every batch from 0 to the newest committed one, or raise `EvidenceError`.

    A log that begins later was purged: the begin of its oldest batch is unknown.
    """
    _, last = newest(folder)
    if last < 0:
        raise EvidenceError(f"{folder.name}/ has no commit: no batch was finished")
    there = set(batches(folder / "offsets"))
    if missing := [batch for batch in range(last + 1) if batch not in there]:
        raise EvidenceError(
            f"{folder.name}/ has no offsets of batch {missing[0]}, but batch {last} was committed:"
            " Spark purged the log before it was archived"
        )
    return [planned(folder, batch) for batch in range(last + 1)]


def ranges(log: list[Planned]) -> list[Range]:
    """Return the ranges that are not empty; raise `EvidenceError` for a log that goes back."""
    found = []
    ends: dict[tuple[str, str], int] = {}
    for step in log:
        for topic, partitions in step.offsets.items():
            for partition, end in partitions.items():
                begin = ends.get((topic, partition), 0)
                if end < begin:
                    raise EvidenceError(
                        f"the offset log goes back: {topic}-{partition} was at {begin:,}, but batch"
                        f" {step.batch} ends at {end:,}"
                    )
                if end > begin:
                    found.append(Range(topic, int(partition), begin, end, step.batch))
                ends[topic, partition] = end
    if not found:
        raise EvidenceError("the offset log has no record of a Kafka topic")
    return found


def position(log: list[Planned]) -> dict[tuple[str, int], int]:
    """Return the next offset of each partition after the last batch."""
    return {(one.topic, one.partition): one.end for one in ranges(log)}


def first_reads(folders: Sequence[Path]) -> list[Range]:
    """Return the first batch that read each record, over the logs of all queries in order.

    Planned batches count as read, committed or not. Records before the first offsets of a query are
    in ranges with `is_read` false.
    """
    found: list[Range] = []
    covered: dict[tuple[str, str], int] = {}
    for number, folder in enumerate(folders):
        ends = {
            (topic, partition): begin
            for topic, begins in first_offsets(folder).items()
            for partition, begin in begins.items()
        }
        for batch in batches(folder / "offsets"):
            for topic, partitions in planned(folder, batch).offsets.items():
                for partition, end in partitions.items():
                    at, so_far = (topic, partition), covered.get((topic, partition), 0)
                    begin = ends.get(at, 0)
                    where = (topic, int(partition))
                    if begin > so_far:
                        found.append(Range(*where, so_far, begin, batch, number, is_read=False))
                    if end > (begin := max(begin, so_far)):
                        found.append(Range(*where, begin, end, batch, number))
                    covered[at] = max(begin, end)
                    ends[at] = max(ends.get(at, 0), end)
    return found
