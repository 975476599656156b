"""Digests of a run: of the evidence that the judge reads, and of the verdict that it wrote."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from onceproof.errors import EvidenceError
from onceproof.run import RunDirectory


def evidence_digest(run: RunDirectory) -> str:
    """Return the sha256 over all that the judge reads: names and contents, in order.

    Logs, reports, the verdict and the state in the checkpoint are not in it. A file that is added,
    missing, renamed or changed makes another digest.
    """
    told = hashlib.sha256()
    for path in sorted(_files(run)):
        told.update(f"{path.relative_to(run.root).as_posix()!r} {file_digest(path)}\n".encode())
    return told.hexdigest()


def file_digest(path: Path) -> str:
    """Return the sha256 of one file, or raise `EvidenceError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EvidenceError(f"{path.name} cannot be read: {error.strerror}") from None


def evidence_parts(run: RunDirectory) -> tuple[Path, ...]:
    """Return the files and folders that the judge reads, whether they are there or not."""
    return (
        run.plan,
        run.history,
        run.fenced,
        run.recomputed,
        run.validation,
        run.reads,
        run.ledger,
        run.checkpoint_log,
        run.expected,
        run.observed,
        run.differences,
        run.late,
        *(run.checkpoint / name for name in ("metadata", "offsets", "commits")),
    )


def _files(run: RunDirectory) -> Iterator[Path]:
    for part in evidence_parts(run):
        yield from (path for path in (part, *part.rglob("*")) if path.is_file())
