"""The query's checkpoint, read from its files.

A recovery has no running query to ask, so sinks and recoveries both read the files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from onceproof.checkpoint import log
from onceproof.documents import field, read_object
from onceproof.errors import RequestError
from onceproof.sinks.protocol import Span


@dataclass(frozen=True)
class CheckpointFolder:
    """The folder that the query has as its `checkpointLocation`."""

    location: str

    @property
    def folder(self) -> Path:
        """The folder; raises `RequestError` for a location outside the local file system."""
        path = self.location.removeprefix("file://").removeprefix("file:")
        if not path.startswith("/"):
            raise RequestError(
                f"checkpoint {self.location!r} is not an absolute path, and this sink must read it;"
                " use the query's checkpointLocation on a local or mounted file system"
            )
        return Path(path)

    def query(self) -> str:
        """Return the query's id."""
        return field(read_object(self.folder / "metadata"), "id", str, "the checkpoint's metadata")

    def span(self, batch: int) -> Span:
        """Return digests of the offset log's entries for the previous batch and for this one."""
        return Span(self._digest(batch - 1) if batch else "", self._digest(batch))

    def is_committed(self, batch: int) -> bool:
        """Whether the commit log has the batch or a later one: Spark removes old entries."""
        return batch <= max(log.batches(self.folder / "commits"), default=-1)

    def _digest(self, batch: int) -> str:
        digest = blake2b(digest_size=8)
        for source in log.planned(self.folder, batch).sources:
            digest.update(_plain(source).encode() + b"\n")
        return digest.hexdigest()


def _plain(source: str) -> str:
    # the same text for equal offsets
    try:
        return json.dumps(json.loads(source), sort_keys=True)
    except ValueError:  # "-", or a format of its own
        return source
