"""Checks of a checkpoint by its files, before a restart and after a run.

Spark itself checks little of this, and ignores some damage silently. State is not read here, as
that needs Spark.

A problem names each file as a separate word: the judge compares these words with damaged files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from onceproof.checkpoint.checksums import checksum_troubles
from onceproof.checkpoint.log import Committed, Planned, batches, committed, planned
from onceproof.checkpoint.state_files import state_troubles
from onceproof.documents import field, parse_object
from onceproof.errors import EvidenceError

_GONE = "was archived and is gone: files were lost, or this is an older copy"


@dataclass(frozen=True)
class Logs:
    """Both logs of a checkpoint: the batches with a file, and the content of readable files."""

    offsets: list[int]
    commits: list[int]
    planned: dict[int, Planned]
    committed: dict[int, Committed]
    damaged: dict[str, str]

    @classmethod
    def read(cls, folder: Path) -> Logs:
        """Read both logs; `damaged` maps the name of each unreadable file to the reason."""
        found = cls(batches(folder / "offsets"), batches(folder / "commits"), {}, {}, {})
        for batch in found.offsets:
            try:
                found.planned[batch] = planned(folder, batch)
            except EvidenceError as error:
                found.damaged[f"offsets/{batch}"] = str(error)
        for batch in found.commits:
            try:
                found.committed[batch] = committed(folder, batch)
            except EvidenceError as error:
                found.damaged[f"commits/{batch}"] = str(error)
        return found

    @property
    def newest(self) -> tuple[int, int]:
        """The newest batch of each log; -1 for an empty log."""
        return max(self.offsets, default=-1), max(self.commits, default=-1)


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder has any part of a checkpoint."""
    return any((folder / name).exists() for name in ("metadata", "offsets", "commits"))


def query_id(folder: Path) -> str:
    """Return the id of the query that a checkpoint belongs to, or raise `EvidenceError`."""
    try:
        text = (folder / "metadata").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise EvidenceError("metadata is missing: the query's id is unknown") from None
    except (OSError, UnicodeDecodeError) as error:
        raise EvidenceError(f"cannot read metadata: {error}") from None
    return field(parse_object(text, "metadata"), "id", str, "metadata")


def troubles(checkpoint: Path, archive: Path | None = None) -> list[str]:
    """Return the problems of a checkpoint, by itself and compared with its archive.

    An archive has `offsets/` and `commits/` of this checkpoint, and may have its `metadata` and an
    empty `state` as a mark that there was state. A newest batch without a commit is no problem:
    Spark will run it again.
    """
    if not is_checkpoint(checkpoint):
        return [_nothing(checkpoint)]
    logs = Logs.read(checkpoint)
    offsets, commits = logs.newest
    return [
        *_of_logs(checkpoint, archive, logs),
        *state_troubles(checkpoint, offsets, logs.committed.get(commits)),
        *checksum_troubles(checkpoint, "state/**/"),
    ]


def log_troubles(checkpoint: Path, archive: Path | None = None) -> list[str]:
    """Return the problems of the two logs and the metadata only."""
    if not is_checkpoint(checkpoint):
        return [_nothing(checkpoint)]
    return list(_of_logs(checkpoint, archive, Logs.read(checkpoint)))


def _nothing(checkpoint: Path) -> str:
    return f"there is no checkpoint in {checkpoint.name}: Spark would start a new query"


def _of_logs(checkpoint: Path, archive: Path | None, logs: Logs) -> Iterator[str]:
    yield from _of_metadata(checkpoint, archive)
    yield from logs.damaged.values()
    yield from _of_batches(logs)
    yield from _of_sources(logs)
    yield from _of_offsets(logs)
    yield from _of_watermarks(logs)
    for folder in ("", "offsets/", "commits/"):
        yield from checksum_troubles(checkpoint, folder)
    if archive:
        yield from _since(checkpoint, archive, logs)


def _of_metadata(checkpoint: Path, archive: Path | None) -> Iterator[str]:
    try:
        now = query_id(checkpoint)
        then = query_id(archive) if archive and (archive / "metadata").exists() else now
    except EvidenceError as error:
        yield str(error)
    else:
        if now != then:
            yield f"metadata has the id of query {now}, but the archive has {then}"


def _of_batches(logs: Logs) -> Iterator[str]:
    for name, found in (("offsets", logs.offsets), ("commits", logs.commits)):
        for one, other in pairwise(found):
            if other > one + 1:
                yield f"{name}/{one + 1} is missing between {one} and {other}"
    offsets, commits = logs.newest
    if commits > offsets:
        yield f"offsets/{commits} is missing, but batch {commits} was committed"
    elif commits < offsets - 1:
        yield (
            f"batch {commits + 1} was never committed, but offsets/{offsets} exists: only the"
            " newest batch may be without a commit"
        )


def _of_sources(logs: Logs) -> Iterator[str]:
    steps = [logs.planned[batch] for batch in sorted(logs.planned)]
    for step in steps:
        if len(step.sources) != len(steps[0].sources):
            yield (
                f"offsets/{step.batch} has {len(step.sources)} source(s), but"
                f" offsets/{steps[0].batch} has {len(steps[0].sources)}"
            )
        for line in step.sources:
            if line != "-" and not _is_json(line):
                yield f"offsets/{step.batch} has a source that is not valid JSON: {line[:60]!r}"


def _of_offsets(logs: Logs) -> Iterator[str]:
    for one, other in pairwise(logs.planned[batch] for batch in sorted(logs.planned)):
        for topic in one.offsets.keys() & other.offsets.keys():
            for partition, at in one.offsets[topic].items():
                if (after := other.offsets[topic].get(partition, 0)) < at:
                    yield (
                        f"offsets/{other.batch} goes back: {topic}-{partition} is at {after:,}, but"
                        f" was at {at:,}"
                    )


def _of_watermarks(logs: Logs) -> Iterator[str]:
    for batch, step in sorted(logs.planned.items()):
        before, done = logs.planned.get(batch - 1), logs.committed.get(batch - 1)
        if before and step.watermark_ms < before.watermark_ms:
            yield (
                f"offsets/{batch} has the watermark {step.watermark_ms}, below"
                f" {before.watermark_ms} of the previous batch"
            )
        elif done and step.watermark_ms != done.next_watermark_ms:
            yield (
                f"offsets/{batch} has the watermark {step.watermark_ms}, but commits/{batch - 1}"
                f" has {done.next_watermark_ms}"
            )


def _since(checkpoint: Path, archive: Path, logs: Logs) -> Iterator[str]:
    offsets, commits = logs.newest
    if (archive / "state").exists() and not (checkpoint / "state").exists():
        yield "state is missing, but the archive has the mark that there was state"
    for batch in batches(archive / "offsets"):
        if batch > offsets:
            yield f"offsets/{batch} {_GONE}"
        elif batch in logs.offsets:
            name = Path("offsets") / str(batch)
            if (checkpoint / name).read_bytes() != (archive / name).read_bytes():
                yield f"{name} differs from the archive, but Spark never writes it again"
    for batch in batches(archive / "commits"):
        if batch > commits:
            yield f"commits/{batch} {_GONE}"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
