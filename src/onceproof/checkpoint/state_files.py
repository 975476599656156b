"""The files of a checkpoint's state: which version of each store is there, under which id."""

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
# 7.delta, 7.snapshot: kept in memory. 7.changelog, 7.zip: RocksDB. 7_<id>.zip: named by the commit.
_VERSIONED = re.compile(r"(\d+)(?:_([0-9a-f-]{36}))?\.(delta|snapshot|changelog|zip)")


@dataclass(frozen=True)
class StateFile:
    """One version of one store: a whole copy or a change, of a partition of an operator."""

    path: Path
    version: int
    unique_id: str


@dataclass(frozen=True)
class Store:
    """A folder of versions. Most operators have one store a partition, joins have four."""

    operator: int
    partition: int
    name: str
    files: tuple[StateFile, ...]

    def __str__(self) -> str:
        """Name it as its folder is named."""
        return "/".join(("state", str(self.operator), str(self.partition), self.name)).rstrip("/")

    @property
    def newest(self) -> int:
        """The newest version that has a file; 0 where there is none."""
        return max((one.version for one in self.files), default=0)


def numbered(folder: Path) -> list[int]:
    """Return the folders below one whose names are numbers, in order."""
    if not folder.is_dir():
        return []
    return sorted(int(one.name) for one in folder.iterdir() if one.is_dir() and one.name.isdigit())


def stores(checkpoint: Path) -> list[Store]:
    """Return every store that has a folder, with its files; state is not read."""
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
        if told := _VERSIONED.fullmatch(path.name):
            yield StateFile(path, int(told[1]), told[2] or "")


def state_troubles(checkpoint: Path, offsets: int, last: Committed | None) -> list[str]:
    """Say which stores do not have the version that the last commit needs.

    After batch b that is version b + 1, in every partition. One version more is what a batch left
    that was not committed; two more can be no batch's of this log.
    """
    found = stores(checkpoint)
    said = _gone(checkpoint, found, last)
    wanted = last.batch + 1 if last else 0
    for store in found:
        if wanted and not any(one.version == wanted for one in store.files):
            said.append(f"{store} has no version {wanted}, which the commit of {wanted - 1} needs")
        elif last and (unknown := _unnamed(store, last)):
            said.append(unknown)
        if store.newest > offsets + 1:
            said.append(
                f"{store} has version {store.newest}, and the offset log ends at batch {offsets}:"
                " state is ahead of the offsets"
            )
    return said


def _unnamed(store: Store, last: Committed) -> str:
    """Say so if none of the ids that the last commit names for a partition has a file there."""
    ids = _ids(last.state_ids.get(str(store.operator)), store.partition)
    if not ids or any(one.unique_id in ids for one in store.files):
        return ""
    return f"{store} has no file with the id that commits/{last.batch} names"


def _ids(of_operator: Any, partition: int) -> set[str]:
    if isinstance(of_operator, Mapping):
        of_operator = [of_operator.get(str(nth)) for nth in range(partition + 1)]
    if not isinstance(of_operator, Sequence) or partition >= len(of_operator):
        return set()
    return {str(one) for one in of_operator[partition] or ()}


def _gone(checkpoint: Path, found: list[Store], last: Committed | None) -> list[str]:
    operators = set(numbered(checkpoint / "state"))
    named = {int(name) for name in last.state_ids if name.isdigit()} if last else set()
    expected = set(range(max(operators | named, default=-1) + 1))
    said = [f"state/{operator} is gone" for operator in sorted(expected - operators)]
    there = {(store.operator, store.partition) for store in found}
    for operator in sorted(operators):
        try:
            partitions = _partitions(checkpoint, operator)
        except EvidenceError as error:
            said.append(str(error))
            continue
        if last and not (checkpoint / "state" / str(operator) / _METADATA).is_file():
            said.append(f"state/{operator}/{_METADATA} is missing: nothing says what is kept")
        gone = [nth for nth in range(partitions) if (operator, nth) not in there]
        said += [f"state/{operator}/{partition} is gone" for partition in gone if last]
    return said


def _partitions(checkpoint: Path, operator: int) -> int:
    """Return how many partitions an operator has, as its own metadata tells."""
    where = f"state/{operator}/{_METADATA}"
    path = checkpoint / where
    if not path.is_file():
        return max(numbered(checkpoint / "state" / str(operator)), default=-1) + 1
    _, *lines = path.read_text(errors="replace").split("\n")
    if not lines:
        raise EvidenceError(f"{where} was cut short")
    told = parse_object(lines[0], where)
    return max(
        (int(one.get("numPartitions", 0)) for one in told.get("stateStoreInfo", ())), default=0
    )
