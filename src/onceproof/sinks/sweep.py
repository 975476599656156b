"""What writers have left open in a table or folder, for a person who is to settle it.

A look changes nothing. `settle` does what the next start of the job would: it claims the writer,
which stops a job that still runs, and ends each thing as it was decided.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from onceproof.errors import RequestError
from onceproof.sinks import Target, find_sink
from onceproof.sinks.files.folders import folder_of
from onceproof.sinks.files.store import FileStore, file_name, part_of
from onceproof.sinks.protocol import Memory, Part
from onceproof.sinks.protocol.checkpoint_folder import CheckpointFolder
from onceproof.sinks.tables.casts import TYPES
from onceproof.sinks.tables.memory import TableMemory
from onceproof.sinks.tables.prepared_parts import PreparedParts
from onceproof.sinks.tables.staged_rows import StagedRows
from onceproof.sinks.tables.table import WROTE, parts_of
from onceproof.sinks.tables.writer_session import WriterSession

_COLUMNS = """select column_name, udt_name from information_schema.columns
 where table_schema = %s and table_name = %s order by ordinal_position"""
_STAGED = "select _part from {staged} where split_part(_part, ':', 1) = %s group by 1 order by 1"


class Fate(StrEnum):
    """What becomes of a thing when its writer is settled."""

    COMMIT = "decided: will be committed"
    ROLL_BACK = "not decided: will be rolled back"
    ADD = "in the commit log: will be added"
    STAY = "not in the commit log yet: will stay"
    ASK = "named: the checkpoint says whether it counts"
    REMOVE = "named by no decision: will be removed"
    LOST = "decided, and its rows are lost: will be given up"
    TAKEN = "begun by somebody else under this id: will be rolled back"


@dataclass(frozen=True)
class Left:
    """One thing that a writer has left open; `kind` is what it is, `since` when it was made."""

    kind: str
    part: Part
    fate: Fate
    since: datetime | None = None


class Sweep(Protocol):
    """A target whose writers can be settled."""

    def writers(self) -> list[str]:
        """Return the writers that the target's memory knows; raises if it has none."""

    def left(self, writer: str) -> list[Left]:
        """Return what a writer has left open."""

    def settle(self, writer: str) -> Mapping[str, int]:
        """Claim the writer and end what it has left; return how many of what were done."""


@dataclass(frozen=True)
class TableSweep:
    """A table of PostgreSQL."""

    target: Target

    def writers(self) -> list[str]:
        """Return the writers of the table's schema."""
        session = WriterSession(self.target)
        if not TableMemory(session).is_made():
            schema, _ = parts_of(self.target)
            raise RequestError(
                f"{self.target.name} has no writers: in schema {schema} is no onceproof_writers,"
                " which a sink makes that remembers its batches. Name the table that it writes to"
            )
        return [name for (name,) in session.ask("select writer from {writers} order by writer")]

    def left(self, writer: str) -> list[Left]:
        """Return the transactions that are prepared, then the parts that are staged."""
        session = WriterSession(replace(self.target, writer=writer))
        memory = TableMemory(session)
        found = [
            Left("prepared", part, decided(memory, part), since)
            for part, since in PreparedParts(session).prepared().items()
        ]
        if self._has_log(session):
            named = {part for one in StagedRows(session).waiting() for part in one.parts}
            staged = [Part.of(name) for (name,) in session.ask(_STAGED, writer)]
            found += [Left("staged rows", part, self._fate(part, named)) for part in staged]
        return found

    def settle(self, writer: str) -> Mapping[str, int]:
        """Settle what is prepared, then what is staged."""
        left = self.left(writer)
        refuse_open_ended(left)
        target = replace(self.target, writer=writer)
        done: dict[str, int] = {}
        if any(one.kind == "prepared" for one in left):
            done |= counted(find_sink("two_phase_table")(target).recover())
        if any(one.kind != "prepared" for one in left):
            target = replace(target, columns=self._columns())
            done |= counted(find_sink("wal_table_atomic")(target).recover())
        return done

    def _fate(self, part: Part, named: Iterable[Part]) -> Fate:
        if part not in named:
            return Fate.REMOVE
        if not self.target.checkpoint:
            return Fate.ASK
        is_committed = CheckpointFolder(self.target.checkpoint).is_committed(part.batch)
        return Fate.ADD if is_committed else Fate.STAY

    def _has_log(self, session: WriterSession) -> bool:
        schema, table = parts_of(self.target)
        query = "select 1 from pg_tables where schemaname = %s and tablename = %s"
        return bool(session.ask(query, schema, f"{table}__staged"))

    def _columns(self) -> dict[str, str]:
        names = {kind: name for name, kind in TYPES.items()}
        found = WriterSession(self.target).ask(_COLUMNS, *parts_of(self.target))
        return {name: names[kind] for name, kind in found if name not in WROTE}


@dataclass(frozen=True)
class FolderSweep:
    """A folder of `two_phase_files` or `batch_folder`."""

    target: Target

    @cached_property
    def folder(self) -> Path:
        """The target's folder."""
        return folder_of(self.target)

    def writers(self) -> list[str]:
        """Return the writers of the folder."""
        known = self.folder / "_writers"
        if not known.is_dir():
            raise RequestError(
                f"{self.folder} has no writers: no _writers is in it, which a sink of files makes"
                " that remembers its batches. Name the folder that has data/ in it"
            )
        return sorted(os.listdir(known))

    def left(self, writer: str) -> list[Left]:
        """Return the files that are staged."""
        store = FileStore(replace(self.target, writer=writer))
        memory = store.memory
        kept = sorted(memory.folder.glob("epoch-*/_*/*.parquet"))  # a batch_folder's, in its claim
        return [
            Left("staged file", part, decided(memory, part), _made(store.stage / file_name(part)))
            for part in store.open()
        ] + [Left("staged file", part_of(one.name), Fate.REMOVE, _made(one)) for one in kept]

    def settle(self, writer: str) -> Mapping[str, int]:
        """Settle what is staged; what stands in a claim goes with it."""
        removed = [one for one in self.left(writer) if one.fate is Fate.REMOVE]
        told = find_sink("two_phase_files")(replace(self.target, writer=writer)).recover()
        return counted({**told, "removed": len(removed)})


def refuse_open_ended(left: Iterable[Left]) -> None:
    """Raise for what only a checkpoint can tell, where none was given."""
    if open_ended := [one for one in left if one.fate is Fate.ASK]:
        raise RequestError(
            f"batch {open_ended[0].part.batch} is staged, and its checkpoint says whether it"
            " counts: write --checkpoint with the folder that the query has as its own"
        )


def decided(memory: Memory, part: Part) -> Fate:
    """Return what becomes of a part that is pre-committed."""
    decision = memory.decision(part.batch)
    is_decided = decision is not None and part in decision.parts
    return Fate.COMMIT if is_decided else Fate.ROLL_BACK


def _made(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
    except FileNotFoundError:  # ended just now
        return None


def counted(told: Mapping[str, Any]) -> dict[str, int]:
    """Return what a recovery has done, in numbers."""
    names = {"committed": "committed", "rolled_back": "rolled back", "applied": "batches added"}
    done = {words: len(told[name]) for name, words in names.items() if name in told}
    return done | ({"staged parts removed": told["removed"]} if "removed" in told else {})
