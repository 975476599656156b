"""Hadoop's checksums: `.name.crc` beside each file, which Spark writes and does not read."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_MAGIC = b"crc\x00"
_HEAD = struct.Struct(">4si")


def checksum_file(path: Path) -> Path:
    """Return the path of a file's checksums."""
    return path.with_name(f".{path.name}.crc")


def write_checksums(path: Path, width: int = 512) -> None:
    """Write the checksums of a file as Hadoop does."""
    sums = _HEAD.pack(_MAGIC, width) + _sums(path.read_bytes(), width)
    checksum_file(path).write_bytes(sums)


def _sums(content: bytes, width: int) -> bytes:
    chunks = (content[at : at + width] for at in range(0, len(content), width))
    return b"".join(struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)


def is_altered(path: Path) -> bool:
    """Whether a file differs from its checksums; False without valid checksums."""
    try:
        sums = checksum_file(path).read_bytes()
        content = path.read_bytes()
    except OSError:
        return False
    if len(sums) < _HEAD.size:
        return False
    magic, width = _HEAD.unpack_from(sums)
    if magic != _MAGIC or width < 1:
        return False
    return _sums(content, width) != sums[_HEAD.size :]


def checksum_troubles(checkpoint: Path, folder: str) -> Iterator[str]:
    """Yield the problems of files that differ from their checksums, and checksums without a file.

    The folder is a pattern below the checkpoint. Temporary files are skipped.
    """
    for sums in sorted(checkpoint.glob(f"{folder}.*.crc")):
        if sums.name.endswith(".tmp.crc"):
            continue
        path = sums.with_name(sums.name[1:].removesuffix(".crc"))
        name = path.relative_to(checkpoint)
        if path.exists():
            if is_altered(path):
                yield f"{name} was changed after Spark wrote it: its checksums differ"
        elif path.parent.name in ("offsets", "commits"):
            yield (
                f"{name} is gone and {sums.name} is left: Spark would assume another query on this"
                " checkpoint; remove both or neither"
            )
        else:
            yield f"{name} is gone, and its checksums are left"
