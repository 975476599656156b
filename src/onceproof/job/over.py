"""When a run is over: all that was sent is committed, and the engine has nothing left to do."""

from __future__ import annotations

from onceproof.checkpoint.archive import Archive
from onceproof.documents import read_object
from onceproof.run.directory import RunDirectory
from onceproof.run.evidence import by_partition


def is_over(run: RunDirectory, archive: Archive) -> bool:
    """Whether the newest commit covers the whole ledger, and no batch without data is due.

    After the sentinel the watermark moves once more, and a batch without data closes what it
    closes: so the watermark that the newest commit hands on must be the one that its batch had.
    """
    if not run.sent.exists():
        return False
    planned, committed = archive.newest
    sent = by_partition(read_object(run.sent))
    if planned != committed or committed < 0:
        return not sent  # no input, no batch
    position = by_partition(archive.planned[planned].offsets)
    if any(position.get(place, 0) < end for place, end in sent.items()):
        return False
    has_state = (run.checkpoint / "state").exists()
    moves = archive.committed[committed].next_watermark_ms != archive.planned[planned].watermark_ms
    return not (has_state and moves)
