"""The files of a checkpoint's state: the versions of each store, with their ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceproof.checkpoint.log import Committed
from onceproof.documents import parse_object
from onceproof.errors import EvidenceError

_METADATA = "_metadata/metadata"
# HDFS: 7.delta, 7.snapshot. RocksDB: 7.changelog, 7.zip, or 7_<id>.zip with an id in the commit.
_VERSIONED = re.compile(r"(\d+)(?:_([0-9a-f-]{36}))?\.(delta|snapshot|changelog|zip)")


@dataclass(frozen=True)
class StateFile:
    """A version of a store: a snapshot or a delta of a partition of an operator."""

    path: Path
    version: int
    unique_id: str


@dataclass(frozen=True)
class Store:
    """A folder of versions. Most operators have one store for each partition, joins have four."""

    operator: int
    partition: int
    name: str
    files: tuple[StateFile, ...]

    def __str__(self) -> str:
        """Return the path of its folder in the checkpoint."""
        return "/".join(("state", str(self.operator), str(self.partition), self.name)).rstrip("/")

    @property
    def newest(self) -> int:
        """The newest version with a file; 0 without files."""
        return max((one.version for one in self.files), default=0)


def numbered(folder: Path) -> list[int]:
    """Return the subfolders whose names are numbers, as sorted numbers."""
    if not folder.is_dir():
        return []
    return sorted(int(one.name) for one in folder.iterdir() if one.is_dir() and one.name.isdigit())


def stores(checkpoint: Path) -> list[Store]:
    """Return every store with a folder, with its files; state is not read."""
    found = []
    for operator in numbered(checkpoint / "state"):
        for partition in numbered(checkpoint / "state" / str(operator)):
            folder = checkpoint / "state" / str(operator) / str(partition)
            inner = [one for one in sorted(folder.iterdir()) if one.is_dir()]
            named = [(one.name, tuple(_files(one))) for one in inner if one.name[0] not in "_."]
            named = [(name, files) for name, files in named if files]
            own = tuple(_files(folder))
            for name, files in [*([("", own)] if own or not named else []), *named]:
                found.append(Store(operator, partition, name, files))
    return found


def _files(folder: Path) -> Iterator[StateFile]:
    for path in sorted(folder.iterdir()):
        if match := _VERSIONED.fullmatch(path.name):
            yield StateFile(path, int(match[1]), match[2] or "")


def state_troubles(checkpoint: Path, offsets: int, last: Committed | None) -> list[str]:
    """Return the problems of stores without the version that the last commit needs.

    After batch b that is version b + 1, in every partition. One later version may exist from a
    batch that was not committed; two later versions are not of this log.
    """
    found = stores(checkpoint)
    problems = _missing(checkpoint, found, last)
    wanted = last.batch + 1 if last else 0
    for store in found:
        if wanted and not any(one.version == wanted for one in store.files):
            needed_by = f"the commit of batch {wanted - 1}"
            problems.append(f"{store} has no version {wanted}, which {needed_by} needs")
        elif last and (problem := _without_id(store, last)):
            problems.append(problem)
        if store.newest > offsets + 1:
            problems.append(
                f"{store} has version {store.newest}, but the offset log ends at batch {offsets}:"
                " state is ahead of the offsets"
            )
    return problems


def _without_id(store: Store, last: Committed) -> str:
    """Return a problem if none of the partition's ids in the last commit has a file."""
    ids = _ids(last.state_ids.get(str(store.operator)), store.partition)
    if not ids or any(one.unique_id in ids for one in store.files):
        return ""
    return f"{store} has no file with the id in commits/{last.batch}"


def _ids(of_operator: Any, partition: int) -> set[str]:
    if isinstance(of_operator, Mapping):
        of_operator = [of_operator.get(str(nth)) for nth in range(partition + 1)]
    if not isinstance(of_operator, Sequence) or partition >= len(of_operator):
        return set()
    return {str(one) for one in of_operator[partition] or ()}


def _missing(checkpoint: Path, found: list[Store], last: Committed | None) -> list[str]:
    operators = set(numbered(checkpoint / "state"))
    named = {int(name) for name in last.state_ids if name.isdigit()} if last else set()
    expected = set(range(max(operators | named, default=-1) + 1))
    problems = [f"state/{operator} is gone" for operator in sorted(expected - operators)]
    there = {(store.operator, store.partition) for store in found}
    for operator in sorted(operators):
        try:
            partitions = _partitions(checkpoint, operator)
        except EvidenceError as error:
            problems.append(str(error))
            continue
        if last and not (checkpoint / "state" / str(operator) / _METADATA).is_file():
            name = f"state/{operator}/{_METADATA}"
            problems.append(f"{name} is missing: the operator is not described")
        gone = [nth for nth in range(partitions) if (operator, nth) not in there]
        problems += [f"state/{operator}/{partition} is gone" for partition in gone if last]
    return problems


def _partitions(checkpoint: Path, operator: int) -> int:
    """Return the number of an operator's partitions by its metadata, else by its folders."""
    where = f"state/{operator}/{_METADATA}"
    path = checkpoint / where
    if not path.is_file():
        return max(numbered(checkpoint / "state" / str(operator)), default=-1) + 1
    _, *lines = path.read_text(errors="replace").split("\n")
    if not lines:
        raise EvidenceError(f"{where} was cut short")
    metadata = parse_object(lines[0], where)
    return max(
        (int(one.get("numPartitions", 0)) for one in metadata.get("stateStoreInfo", ())), default=0
    )
