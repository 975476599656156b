"""A copy of a checkpoint's two logs, made while the job runs: Spark keeps only the last hundred.

Each batch is recorded in the history when its file is first seen, and again when its content has
changed because the checkpoint was restored or damaged; the older file is kept beside it. The logs
of an earlier query, whose checkpoint was lost, are kept in `query-1/` and so on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from onceproof.checkpoint import log
from onceproof.errors import EvidenceError
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome

ACTOR = "archive"
_BEFORE = "query-"  # the logs of a query whose checkpoint was lost, by its number
Stamp = tuple[int, int, int]


class Archive:
    """The archive of one run; any thread of its process may bring it up to date.

    A new instance continues the archive of an earlier one.
    """

    def __init__(self, checkpoint: Path, archive: Path, history: History) -> None:
        self.checkpoint, self.folder = checkpoint, archive
        self._history = history
        self.lock = threading.RLock()  # held while batches are archived and recorded
        self._seen: dict[Path, Stamp] = {}
        self.planned: dict[int, log.Planned] = {}
        self.committed: dict[int, log.Committed] = {}
        for name in ("offsets", "commits"):
            (archive / name).mkdir(parents=True, exist_ok=True)

    def catch_up(self) -> None:
        """Archive and record everything that is new on disk."""
        with self.lock:
            self._take_query()
            for name, take in (("offsets", self._take_offsets), ("commits", self._take_commit)):
                self._take_new(name, take)
            if (self.checkpoint / "state").exists():
                (self.folder / "state").mkdir(exist_ok=True)  # a mark that there was state

    def accept_damage(self) -> None:
        """Accept the changes of a fault, so that they are not recorded as the engine's.

        Removed batches are forgotten, and recorded again when they are written again. Changed files
        stay archived as the engine wrote them.
        """
        with self.lock:
            for name, found in (("offsets", self.planned), ("commits", self.committed)):
                for batch in list(found):
                    path = self.checkpoint / name / str(batch)
                    if path.exists():
                        self._seen[path] = _stamp(path)
                    else:
                        found.pop(batch)
                        self._seen.pop(path, None)

    @property
    def newest(self) -> tuple[int, int]:
        """The newest batch planned, and the newest committed; -1 for an empty log."""
        return max(self.planned, default=-1), max(self.committed, default=-1)

    def position(self) -> Mapping[str, Mapping[str, int]]:
        """Return the next offsets after the newest commit, by topic and partition."""
        newest = self.newest[1]
        return self.planned[newest].offsets if newest in self.planned else {}

    def _take_query(self) -> None:
        """Archive the query's id and first offsets; put the logs of an earlier query aside.

        Another id means that the checkpoint was lost and that a new query counts batches from 0.
        """
        for path in (self.checkpoint / "metadata", *self.checkpoint.glob("sources/*/0")):
            kept = self.folder / path.relative_to(self.checkpoint)
            try:
                stamp = path.stat()
                if self._seen.get(path) == (
                    now := (stamp.st_ino, stamp.st_size, stamp.st_mtime_ns)
                ):
                    continue
                text = path.read_bytes()
            except FileNotFoundError:
                continue
            if path.name == "metadata" and kept.exists() and kept.read_bytes() != text:
                self._put_aside(text)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(text)
            self._seen[path] = now

    def _put_aside(self, metadata: bytes) -> None:
        number = len(queries(self.folder))
        aside = self.folder / f"{_BEFORE}{number}"
        aside.mkdir()
        for name in ("offsets", "commits", "sources", "metadata"):
            if (self.folder / name).exists():
                os.replace(self.folder / name, aside / name)
        for name in ("offsets", "commits"):
            (self.folder / name).mkdir()
        self._seen.clear()
        self.planned.clear()
        self.committed.clear()
        proof = {"query": metadata.decode(errors="replace").strip()[:200], "number": number + 1}
        self._history.append(ACTOR, Op.CHECKPOINT_ANEW, proof=proof)

    def _take_new(self, name: str, take: Callable[[int], None]) -> None:
        for batch in log.batches(self.checkpoint / name):
            path = self.checkpoint / name / str(batch)
            try:
                stamp = _stamp(path)
                if self._seen.get(path) == stamp:
                    continue
                text = path.read_bytes()
            except FileNotFoundError:  # Spark has removed an old one, or a fault a new one
                continue
            kept = self.folder / name / str(batch)
            if not kept.exists() or kept.read_bytes() != text:
                _keep(kept, text)
                self._record(name, batch, take)
            elif batch not in (self.planned if name == "offsets" else self.committed):
                self._record(name, batch, take)
            self._seen[path] = stamp

    def _record(self, name: str, batch: int, take: Callable[[int], None]) -> None:
        try:
            take(batch)
        except EvidenceError as error:
            op = Op.BATCH_OFFSETS if name == "offsets" else Op.BATCH_COMMIT
            proof = {"reason": str(error)}
            self._history.append(ACTOR, op, Outcome.FAILED, batch=batch, proof=proof)

    def _take_offsets(self, batch: int) -> None:
        found = log.planned(self.folder, batch)
        proof = {"offsets": found.offsets, "watermark_ms": found.watermark_ms}
        self._history.append(ACTOR, Op.BATCH_OFFSETS, batch=batch, proof=proof)
        self.planned[batch] = found

    def _take_commit(self, batch: int) -> None:
        found = log.committed(self.folder, batch)
        proof = {"next_watermark_ms": found.next_watermark_ms}
        self._history.append(ACTOR, Op.BATCH_COMMIT, batch=batch, proof=proof)
        self.committed[batch] = found


def queries(folder: Path) -> list[Path]:
    """Return the folders with the logs of every query of a checkpoint, in order."""
    numbers = sorted(int(path.name.removeprefix(_BEFORE)) for path in folder.glob(f"{_BEFORE}*"))
    return [*(folder / f"{_BEFORE}{number}" for number in numbers), folder]


def _stamp(path: Path) -> Stamp:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _keep(kept: Path, text: bytes) -> None:
    """Write a file atomically; keep the older file as `N~1`, `N~2` and so on."""
    if kept.exists():
        older = len(list(kept.parent.glob(f"{kept.name}~*"))) + 1
        os.replace(kept, kept.with_name(f"{kept.name}~{older}"))
    part = kept.with_suffix(".part")
    part.write_bytes(text)
    os.replace(part, kept)
