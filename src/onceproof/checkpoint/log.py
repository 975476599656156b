"""The offset log and the commit log of a checkpoint, as files tell them.

The same functions read a living checkpoint and the archive of one (`checkpoint-log/`): both have
`offsets/` and `commits/` with a file a batch. A file that is not as Spark writes it raises
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
    """One batch of the offset log: where each topic is read up to (exclusive), and W."""

    batch: int
    watermark_ms: int
    timestamp_ms: int
    offsets: Offsets
    sources: tuple[str, ...]
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Committed:
    """One batch of the commit log, and the watermark that the next batch gets."""

    batch: int
    next_watermark_ms: int
    state_ids: Mapping[str, Any]


def batches(folder: Path) -> list[int]:
    """Return the batches that a log's folder has a file of, in order; none if it is not there."""
    try:
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
    except FileNotFoundError:
        return []


def planned(folder: Path, batch: int) -> Planned:
    """Read one batch of `offsets/` below a folder."""
    path = folder / "offsets" / str(batch)
    version, *lines = _lines(path)
    if version not in _OFFSET_VERSIONS:
        raise EvidenceError(f"offsets/{batch} begins with {version!r}, and only v1 is known")
    if len(lines) < 2:
        raise EvidenceError(f"offsets/{batch} was cut short: it names no source")
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
        raise EvidenceError(f"{where} begins with {version!r}, and only v1 to v3 are known")
    head = parse_object(lines[0], where) if lines else {}
    watermark_ms = count(head, "nextBatchWatermarkMs", where)
    return Committed(batch, watermark_ms, _object(head, "stateUniqueIds", where))


def first_offsets(folder: Path) -> Offsets:
    """Return from where a query began to read, as its Kafka sources note it; {} if not yet."""
    found: dict[str, Mapping[str, int]] = {}
    for path in sorted(folder.glob("sources/*/0")):
        try:
            *_, last = _lines(path)
        except EvidenceError:  # it is being written, or removed with its checkpoint
            continue
        if last[:1] == "{":
            found |= _kafka_offsets([last], f"sources/{path.parent.name}/0")
    return found


def newest(folder: Path) -> tuple[int, int]:
    """Return the newest batch of the offset log and of the commit log; -1 where there is none."""
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
        raise EvidenceError(f"{path.parent.name}/{path.name} cannot be read: {error}") from None
    if not text.strip():
        raise EvidenceError(f"{path.parent.name}/{path.name} is empty")
    return text.rstrip("\n").split("\n")


def _kafka_offsets(sources: list[str], where: str) -> Offsets:
    """Return the offsets of all sources that have Kafka's shape; others are none of ours."""
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
