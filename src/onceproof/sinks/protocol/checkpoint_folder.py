"""The checkpoint of the query that a sink writes for, as its files tell it.

Whoever recovers has no query to ask, so the files are what both go by.
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
        """The folder, or `RequestError` for a location that is none."""
        path = self.location.removeprefix("file://").removeprefix("file:")
        if not path.startswith("/"):
            raise RequestError(
                f"checkpoint {self.location!r} cannot be read by a sink that remembers its batches:"
                " give it the checkpointLocation of the query, an absolute path of a local or"
                " mounted file system"
            )
        return Path(path)

    def query(self) -> str:
        """Return the query's id."""
        return field(read_object(self.folder / "metadata"), "id", str, "the checkpoint's metadata")

    def span(self, batch: int) -> Span:
        """Return digests of what the offset log says before a batch, and in it."""
        return Span(self._digest(batch - 1) if batch else "", self._digest(batch))

    def is_committed(self, batch: int) -> bool:
        """Whether the commit log has the batch or one after it: Spark removes old ones."""
        return batch <= max(log.batches(self.folder / "commits"), default=-1)

    def _digest(self, batch: int) -> str:
        digest = blake2b(digest_size=8)
        for source in log.planned(self.folder, batch).sources:
            digest.update(_plain(source).encode() + b"\n")
        return digest.hexdigest()


def _plain(source: str) -> str:
    """Return a source's offsets as the same text for the same offsets."""
    try:
        return json.dumps(json.loads(source), sort_keys=True)
    except ValueError:  # "-", or a format of its own
        return source
