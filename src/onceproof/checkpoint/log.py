"""The offset log and the commit log of a checkpoint, read from their files.

The same functions read the checkpoint of a running job and its archive (`checkpoint-log/`): both
have `offsets/` and `commits/` with one file for each batch. A file in another format raises
`EvidenceError` with its name; docs/test-a-job/checkpoint.md has the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceproof.documents import count, field, parse_object
from onceproof.errors import EvidenceError

Offsets = Mapping[str, Mapping[str, int]]
_OFFSET_VERSIONS = ("v1",)
_COMMIT_VERSIONS = ("v1", "v2", "v3")


@dataclass(frozen=True)
class Planned:
    """A batch of the offset log: the end offsets (exclusive) and the watermark."""

    batch: int
    watermark_ms: int
    timestamp_ms: int
    offsets: Offsets
    sources: tuple[str, ...]
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Committed:
    """A batch of the commit log, with the watermark of the next batch."""

    batch: int
    next_watermark_ms: int
    state_ids: Mapping[str, Any]


def batches(folder: Path) -> list[int]:
    """Return the batches with a file in a log's folder, in order; none if it does not exist."""
    try:
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
    except FileNotFoundError:
        return []


def planned(folder: Path, batch: int) -> Planned:
    """Read one batch of `offsets/` below a folder."""
    path = folder / "offsets" / str(batch)
    version, *lines = _lines(path)
    if version not in _OFFSET_VERSIONS:
        raise EvidenceError(f"offsets/{batch} has the unknown version {version!r}; known is v1")
    if len(lines) < 2:
        raise EvidenceError(f"offsets/{batch} was cut short: it has no source")
    head = parse_object(lines[0], f"offsets/{batch}")
    where = f"offsets/{batch}"
    return Planned(
        batch,
        count(head, "batchWatermarkMs", where),
        count(head, "batchTimestampMs", where),
        _kafka_offsets(lines[1:], where),
        tuple(lines[1:]),
        _object(head, "conf", where),
    )


def committed(folder: Path, batch: int) -> Committed:
    """Read one batch of `commits/` below a folder."""
    version, *lines = _lines(folder / "commits" / str(batch))
    where = f"commits/{batch}"
    if version not in _COMMIT_VERSIONS:
        raise EvidenceError(f"{where} has the unknown version {version!r}; known are v1 to v3")
    head = parse_object(lines[0], where) if lines else {}
    watermark_ms = count(head, "nextBatchWatermarkMs", where)
    return Committed(batch, watermark_ms, _object(head, "stateUniqueIds", where))


def first_offsets(folder: Path) -> Offsets:
    """Return a query's first offsets, as recorded by its Kafka sources; {} before that."""
    found: dict[str, Mapping[str, int]] = {}
    for path in sorted(folder.glob("sources/*/0")):
        try:
            *_, last = _lines(path)
        except EvidenceError:  # it is being written or removed
            continue
        if last[:1] == "{":
            found |= _kafka_offsets([last], f"sources/{path.parent.name}/0")
    return found


def newest(folder: Path) -> tuple[int, int]:
    """Return the newest batch of the offset log and of the commit log; -1 for an empty log."""
    found = (batches(folder / name) for name in ("offsets", "commits"))
    offsets, commits = (max(one, default=-1) for one in found)
    return offsets, commits


def _object(head: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    return field(head, name, dict, where) if head.get(name) is not None else {}


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise EvidenceError(f"{path.parent.name}/{path.name} is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise EvidenceError(f"cannot read {path.parent.name}/{path.name}: {error}") from None
    if not text.strip():
        raise EvidenceError(f"{path.parent.name}/{path.name} is empty")
    return text.rstrip("\n").split("\n")


def _kafka_offsets(sources: list[str], where: str) -> Offsets:
    """Return the offsets of all sources in Kafka's format; other sources are skipped."""
    found: dict[str, dict[str, int]] = {}
    for source in sources:
        if not source.startswith("{"):  # "-": the source had no data yet
            continue
        for topic, partitions in parse_object(source, where).items():
            if isinstance(partitions, dict) and all(number.isdigit() for number in partitions):
                found.setdefault(topic, {}).update(
                    {number: count(partitions, number, where) for number in partitions}
                )
    return found
