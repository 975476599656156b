"""The kinds of damage that faults do to a checkpoint: files lost, cut or changed, or an older copy.

`batch` is the newest batch; it is committed, and no later one is planned. The checksums of a
changed file are not updated, as after a fault of the disk; Spark reads only those of state.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from onceproof.checkpoint.checksums import checksum_file, write_checksums
from onceproof.checkpoint.state_files import stores
from onceproof.errors import StackError
from onceproof.machine.disks import replace_disk

Hurt = Callable[[Path, int], object]
CHECKPOINT = "checkpoint:"  # the prefix of a fault's target


@dataclass(frozen=True)
class Kind:
    """A way to damage a checkpoint, with its description; it needs batch `least` or later.

    With `is_of_disk`, the checkpoint must be on a disk of its own.
    """

    about: str
    hurt: Hurt
    least: int = 0
    is_of_disk: bool = False


def remove(path: Path) -> None:
    """Remove a file with its checksums, or a folder.

    If the checksums of a batch were left, Spark would assume another query.
    """
    if path.is_dir():
        shutil.rmtree(path)
        return
    if not path.exists():
        raise StackError(f"there is no {path.parent.name}/{path.name} to remove")
    path.unlink()
    checksum_file(path).unlink(missing_ok=True)


def _lose(names: Sequence[str], checkpoint: Path, batch: int) -> None:
    for name in names:
        remove(checkpoint / name.format(n=batch, m=batch - 1))


def _rewrite(name: str, keep: Callable[[bytes], bytes], checkpoint: Path, batch: int) -> None:
    path = checkpoint / name.format(n=batch)
    path.write_bytes(keep(path.read_bytes()))


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


def _without_last_line(content: bytes) -> bytes:
    return content.rpartition(b"\n")[0]


def _edited(content: bytes) -> bytes:
    """Set each offset of the last source back by one tenth."""
    *lines, source = content.decode().split("\n")
    return "\n".join([*lines, json.dumps(_set_back(json.loads(source)))]).encode()


def _set_back(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _set_back(one) for name, one in value.items()}
    return value * 9 // 10 if isinstance(value, int) else value


def _leave_checksum(checkpoint: Path, batch: int) -> None:
    path = checkpoint / "commits" / str(batch)
    if not checksum_file(path).exists():
        raise StackError(f"commits/{batch} has no checksums to leave")
    path.unlink()


def _newest_state(checkpoint: Path, batch: int) -> Iterator[Path]:
    """Return the newest state of each store: after batch b that is version b + 1."""
    for store in stores(checkpoint):
        yield from (one.path for one in store.files if one.version == batch + 1)


def _each_state(act: Callable[[Path], object], checkpoint: Path, batch: int) -> None:
    for path in list(_newest_state(checkpoint, batch)):
        act(path)


def _rewind(checkpoint: Path, batch: int) -> None:
    """Restore the checkpoint to its state two batches ago."""
    for name in ("offsets", "commits"):
        for lost in (batch - 1, batch):
            remove(checkpoint / name / str(lost))
    for store in stores(checkpoint):
        for one in store.files:
            if one.version > batch - 1:
                remove(one.path)


def _unalign(checkpoint: Path, batch: int) -> None:
    """Replace the newest batch's offsets by those of the previous batch, with valid checksums."""
    before, path = (checkpoint / "offsets" / str(one) for one in (batch - 1, batch))
    version, head, *_ = path.read_text().split("\n")
    _, _, *sources = before.read_text().split("\n")
    path.write_text("\n".join([version, head, *sources]))
    write_checksums(path)


KINDS: dict[str, Kind] = {
    "commit_lost": Kind("the newest commit is gone", partial(_lose, ["commits/{n}"])),
    "commits_lost": Kind(
        "the two newest commits are gone",
        partial(_lose, ["commits/{n}", "commits/{m}"]),
        least=1,
    ),
    "every_commit_lost": Kind("every commit is gone", partial(_lose, ["commits"])),
    "commit_checksum_left": Kind(
        "the newest commit is gone, and its checksums are left", _leave_checksum
    ),
    "commit_empty": Kind(
        "the newest commit is empty", partial(_rewrite, "commits/{n}", lambda _: b"")
    ),
    "commit_torn": Kind(
        "the newest commit is cut inside its JSON", partial(_rewrite, "commits/{n}", _half)
    ),
    "commit_cut": Kind(
        "the newest commit is cut after its version",
        partial(_rewrite, "commits/{n}", lambda content: content.partition(b"\n")[0] + b"\n"),
    ),
    "offsets_lost": Kind(
        "the newest offsets are gone, but their commit is there", partial(_lose, ["offsets/{n}"])
    ),
    "batch_lost": Kind(
        "offsets and commit of the newest batch are gone",
        partial(_lose, ["offsets/{n}", "commits/{n}"]),
    ),
    "offsets_empty": Kind(
        "the newest offsets are empty", partial(_rewrite, "offsets/{n}", lambda _: b"")
    ),
    "offsets_torn": Kind(
        "the newest offsets are cut in the middle", partial(_rewrite, "offsets/{n}", _half)
    ),
    "offsets_cut": Kind(
        "the newest offsets have lost their last line",
        partial(_rewrite, "offsets/{n}", _without_last_line),
    ),
    "offsets_edited": Kind(
        "each number in the newest offsets is set back by a tenth",
        partial(_rewrite, "offsets/{n}", _edited),
    ),
    "offsets_before_lost": Kind(
        "the offsets of the last batch but one are gone",
        partial(_lose, ["offsets/{m}"]),
        least=1,
    ),
    "metadata_lost": Kind("the metadata is gone", partial(_lose, ["metadata"])),
    "state_lost": Kind("the newest file of each state store is gone", partial(_each_state, remove)),
    "state_torn": Kind(
        "the newest file of each state store is cut in the middle",
        partial(_each_state, lambda path: path.write_bytes(_half(path.read_bytes()))),
    ),
    "state_flipped": Kind(
        "a byte in the newest file of each state store is flipped",
        partial(_each_state, lambda path: path.write_bytes(_flipped(path.read_bytes()))),
    ),
    "state_partition_lost": Kind(
        "one partition of the state is gone", partial(_lose, ["state/0/0"])
    ),
    "state_folder_lost": Kind("the state is gone", partial(_lose, ["state"])),
    "state_metadata_lost": Kind(
        "the metadata of the state is gone", partial(_lose, ["state/0/_metadata"])
    ),
    "everything_lost": Kind("the whole checkpoint is gone", partial(_lose, ["."])),
    "disk_lost": Kind(
        "its in-memory disk is replaced by an empty one",
        lambda checkpoint, _: replace_disk(checkpoint),
        is_of_disk=True,
    ),
    "old_copy": Kind("it is replaced by a copy of two batches ago", _rewind, least=2),
    "unaligned": Kind(
        "the newest batch has the offsets of the previous one, with its own commit and state",
        _unalign,
        least=1,
    ),
}
