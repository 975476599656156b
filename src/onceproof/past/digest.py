"""The digest of a run: of the evidence that the judge reads."""

from __future__ import annotations

from onceproof.digests import files_digest
from onceproof.run.directory import RunDirectory
from onceproof.run.parts import evidence_paths, files_of


def evidence_digest(run: RunDirectory) -> str:
    """Return the sha256 over all that the judge reads: names and contents, in order.

    A calm run is part of it. Logs, reports, the verdict and the state in the checkpoint are not. A
    file that is added, missing, renamed or changed makes another digest.
    """
    return files_digest(files_of(evidence_paths(run)), run.root)
