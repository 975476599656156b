"""Checkpoints written by hand for tests: a sound one of four batches, to be damaged in one place.

Three batches are committed and the fourth is planned, as after a kill. One operator has state in
two partitions. Every file has Hadoop's checksums.
"""

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUERY = "4be1f70a-1c88-4b56-9c0f-3a1f0d3f6f6e"
WATERMARKS = [0, 8000, 18000, 28000]
ENDS = [(10, 5), (20, 10), (30, 10), (40, 20)]
UNIQUE = "{:08d}-1330-4d43-ab9f-053441db0c{:02d}"


def offsets(batch: int, ends: tuple[int, ...] | None = None, **changes: Any) -> str:
    """Return the text of offsets/N."""
    head = {
        "batchWatermarkMs": WATERMARKS[batch],
        "batchTimestampMs": 1_700_000_000_000 + batch,
        "conf": {"spark.sql.shuffle.partitions": "2"},
    }
    source = {"events": {str(n): end for n, end in enumerate(ends or ENDS[batch])}}
    return "\n".join(["v1", json.dumps(head | changes), json.dumps(source)])


def commit(batch: int, by_id: bool = False, **changes: Any) -> str:
    """Return the text of commits/N."""
    head: dict[str, Any] = {"nextBatchWatermarkMs": WATERMARKS[batch + 1]}
    if by_id:
        head["stateUniqueIds"] = {"0": [[UNIQUE.format(batch + 1, part)] for part in (0, 1)]}
    return f"{'v2' if by_id else 'v1'}\n{json.dumps(head | changes)}"


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file with Hadoop's checksums."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = content.encode() if isinstance(content, str) else content
    path.write_bytes(found)
    chunks = (found[at : at + 512] for at in range(0, len(found), 512))
    sums = b"".join(struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(">i", 512) + sums)


def remove(path: Path) -> None:
    """Remove a file with its checksums, as Spark does."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink()


def state_file(folder: Path, batch: int, partition: int, by_id: bool = False) -> Path:
    """Return the path of a partition's state after a batch."""
    name = f"{batch + 1}_{UNIQUE.format(batch + 1, partition)}.changelog"
    return folder / f"state/0/{partition}" / (name if by_id else f"{batch + 1}.delta")


def write_checkpoint(
    folder: Path, *, by_id: bool = False, text: Callable[[int], str] = offsets
) -> Path:
    """Write a sound checkpoint; `text` may return offsets of other sources than Kafka."""
    write_file(folder / "metadata", json.dumps({"id": QUERY}))
    for batch in range(4):
        write_file(folder / "offsets" / str(batch), text(batch))
    for batch in range(3):
        write_file(folder / "commits" / str(batch), commit(batch, by_id))
        for partition in (0, 1):
            write_file(state_file(folder, batch, partition, by_id), f"{batch} {partition}" * 200)
    stores = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}
    operator = {"operatorId": 0, "operatorName": "stateStoreSave"}
    metadata = json.dumps({"operatorInfo": operator, "stateStoreInfo": [stores]})
    write_file(folder / "state/0/_metadata/metadata", f"v1\n{metadata}")
    return folder


def write_archive(checkpoint: Path, folder: Path) -> Path:
    """Copy both logs to an archive, as is done while a job runs."""
    (folder / "state").mkdir(parents=True, exist_ok=True)
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for path in (checkpoint / name).glob("[0-9]*"):
            (folder / name / path.name).write_bytes(path.read_bytes())
    return folder
