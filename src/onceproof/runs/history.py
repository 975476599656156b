"""The history of a run: one JSON record a line, appended by several processes, never rewritten.

The order of events is the order of `seq`, which is given under a lock; no clock decides anything.
Rows are not recorded here: they go to parquet.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof import documents
from onceproof.errors import EvidenceError
from onceproof.runs.records import LONGEST_LINE_BYTES, Op, Outcome, Record, from_line, to_line


@dataclass(frozen=True)
class History:
    """The file of a run's records; any number of processes may hold one and append.

    Records that are appended are `about` this query or output.
    """

    path: Path
    about: str = ""

    def append(
        self,
        actor: str,
        op: Op,
        outcome: Outcome = Outcome.OK,
        *,
        batch: int | None = None,
        attempt: int | None = None,
        proof: Mapping[str, Any] | None = None,
    ) -> Record:
        """Write one record so that it survives this process, and return it with its number.

        A torn line of a writer that crashed is kept in a record of its own. A record that could not
        be read back raises `EvidenceError`, and nothing is written.
        """
        with self.path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            last, torn = _tail(file.fileno())
            now = (time.monotonic(), time.time())
            if torn:
                line = to_line(
                    Record(last + 1, *now, "history", Op.HISTORY_TORN, Outcome.OK, proof=torn)
                )
                file.truncate(os.fstat(file.fileno()).st_size - torn["bytes"])
                _write(file.fileno(), line)
                last += 1
            record = Record(
                last + 1, *now, actor, op, outcome, batch, attempt, proof or {}, self.about
            )
            _write(file.fileno(), to_line(record))
        return record

    def last_seq(self) -> int:
        """Return the number of the newest record, 0 for an empty history."""
        if not self.path.exists():
            return 0
        with self.path.open("rb", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return _tail(file.fileno())[0]

    def read(self) -> tuple[Record, ...]:
        """Return all records in order; a torn last line was never recorded, so it is left out.

        Any other damage raises `EvidenceError` with the number of the line, and so does a history
        without records.
        """
        if not self.path.exists():
            raise EvidenceError(f"{self.path.name} is missing, so the run has no evidence")
        if not (records := self.so_far()):
            raise EvidenceError(f"{self.path.name} has no records, so the run has no evidence")
        return records

    def so_far(self) -> tuple[Record, ...]:
        """Return the records of a run that may have just begun; there may be none.

        Of a history about one query or output, only its records are returned.
        """
        found = HistoryReader(self.path).read_new()
        return tuple(one for one in found if one.about == self.about) if self.about else found


@dataclass
class HistoryReader:
    """A reader that is called repeatedly and returns only the records appended since."""

    path: Path
    _offset: int = field(init=False, default=0)
    _seq: int = field(init=False, default=0)

    def read_new(self) -> tuple[Record, ...]:
        """Return the records since the last call; a half-written last line is left for the next.

        A damaged record raises `EvidenceError` with the number of its line, at each call.
        """
        try:
            with self.path.open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                found = os.pread(file.fileno(), max(0, size - self._offset), self._offset)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise EvidenceError(f"{self.path.name} cannot be read: {error.strerror}") from None
        *lines, torn = found.split(b"\n")
        records = tuple(from_line(number, line) for number, line in enumerate(lines, self._seq + 1))
        self._offset += len(found) - len(torn)
        self._seq += len(records)
        return records


def _write(handle: int, line: bytes) -> None:
    written = os.write(handle, line)
    if written < len(line):  # a full disk: the next append finds a torn line
        raise EvidenceError(f"only {written} of {len(line)} bytes of a record could be written")


def _tail(handle: int) -> tuple[int, dict[str, Any]]:
    """Return the newest record's number, and the torn line after it, if any."""
    size = os.fstat(handle).st_size
    start = max(0, size - 2 * LONGEST_LINE_BYTES)
    *lines, torn = os.pread(handle, size - start, start).split(b"\n")
    if len(torn) > LONGEST_LINE_BYTES:
        raise EvidenceError(f"the history ends in {len(torn):,} bytes that are not a record")
    found = documents.parse_object(lines[-1].decode(), "the newest record") if lines else {"seq": 0}
    last = documents.count(found, "seq", "the newest record")
    text = torn[:1000].decode(errors="backslashreplace")
    return last, {"bytes": len(torn), "text": text} if torn else {}
