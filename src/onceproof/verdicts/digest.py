"""The digest of a run: of the evidence that the judge reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onceproof.digests import files_digest
from onceproof.run import RunDirectory


def evidence_digest(run: RunDirectory) -> str:
    """Return the sha256 over all that the judge reads: names and contents, in order.

    Logs, reports, the verdict and the state in the checkpoint are not in it. A file that is added,
    missing, renamed or changed makes another digest.
    """
    return files_digest(_files(run), run.root)


def evidence_parts(run: RunDirectory) -> tuple[Path, ...]:
    """Return the files and folders that the judge reads, whether they are there or not."""
    return (
        run.plan,
        run.history,
        run.fenced,
        run.failpoints,
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
