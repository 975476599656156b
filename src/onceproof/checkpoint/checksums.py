"""Hadoop's checksums: `.name.crc` beside each file, which Spark writes and does not read."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_MAGIC = b"crc\x00"
_HEAD = struct.Struct(">4si")


def checksum_file(path: Path) -> Path:
    """Return where the checksums of a file are."""
    return path.with_name(f".{path.name}.crc")


def write_checksums(path: Path, width: int = 512) -> None:
    """Write the checksums of a file as Hadoop does."""
    sums = _HEAD.pack(_MAGIC, width) + _sums(path.read_bytes(), width)
    checksum_file(path).write_bytes(sums)


def _sums(content: bytes, width: int) -> bytes:
    chunks = (content[at : at + width] for at in range(0, len(content), width))
    return b"".join(struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)


def altered(path: Path) -> bool:
    """Whether a file is not as it was written; False where no checksums tell."""
    try:
        told = checksum_file(path).read_bytes()
        content = path.read_bytes()
    except OSError:
        return False
    if len(told) < _HEAD.size:
        return False
    magic, width = _HEAD.unpack_from(told)
    if magic != _MAGIC or width < 1:
        return False
    return _sums(content, width) != told[_HEAD.size :]


def checksum_troubles(checkpoint: Path, folder: str) -> Iterator[str]:
    """Say which files are not as they were written, and which checksums have lost their file.

    The folder is a pattern below the checkpoint. Files that were never finished do not count.
    """
    for told in sorted(checkpoint.glob(f"{folder}.*.crc")):
        if told.name.endswith(".tmp.crc"):
            continue
        path = told.with_name(told.name[1:].removesuffix(".crc"))
        name = path.relative_to(checkpoint)
        if path.exists():
            if altered(path):
                yield f"{name} is not as Spark wrote it: its checksums differ"
        elif path.parent.name in ("offsets", "commits"):
            yield (
                f"{name} is gone and {told.name} beside it is left: Spark takes that for another"
                " query on this checkpoint; remove both or neither"
            )
        else:
            yield f"{name} is gone, and its checksums are left"
