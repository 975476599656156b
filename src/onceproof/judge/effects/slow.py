"""What took longer after a strike than ever before it: commits, polls, acknowledgements.

A time counts only where it is at least `LEAST_S` longer than the longest before the strike and at
least `TIMES` as long. A job of which nothing is known before the strike was not slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from onceproof.judge.effects.windows import Window
from onceproof.run.evidence import Evidence
from onceproof.run.records import Op, Record

LEAST_S = 2.0
TIMES = 3
Spans = Iterable[tuple[Record, Record]]


def slower(evidence: Evidence, window: Window) -> dict[str, float]:
    """Return the seconds of what was slower in a window, by name: `commit_s` and the like."""
    found = {}
    for name, make in _SPANS.items():
        usual, longest = 0.0, 0.0
        for begin, end in make(evidence):
            seconds = end.wall - begin.wall
            if end.seq <= window.first:
                usual = max(usual, seconds)
            elif begin.seq <= window.last:
                longest = max(longest, seconds)
        if usual and longest >= max(usual + LEAST_S, TIMES * usual):
            found[name] = round(longest, 3)
    return found


def _commits(evidence: Evidence) -> Spans:
    """Yield each two commits that follow each other."""
    return pairwise(one for one in evidence.of(Op.BATCH_COMMIT) if one.is_ok)


def _polls(evidence: Evidence) -> Spans:
    """Yield the ends of each two looks of the reader that follow each other."""
    return pairwise(evidence.of(Op.POLL))


def _acknowledgements(evidence: Evidence) -> Spans:
    """Yield the times from one acknowledgement to the next, while records were under way."""
    since: Record | None = None
    for record in evidence.of(Op.INPUT_PROGRESS):
        is_waiting = since is not None and _done(since) < int(since.proof.get("offered", 0))
        if since and is_waiting:
            yield since, record
        if since is None or not is_waiting or _done(record) > _done(since):
            since = record if _done(record) else None


def _done(record: Record) -> int:
    return int(record.proof.get("acknowledged", 0))


_SPANS: dict[str, Callable[[Evidence], Spans]] = {
    "commit_s": _commits,
    "poll_s": _polls,
    "acknowledgement_s": _acknowledgements,
}
