"""One part of a batch, copied into a table of PostgreSQL by a session of its own."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from onceproof.sinks import Target
from onceproof.sinks.in_spark.task_rows import as_csv
from onceproof.sinks.tables.sessions import told


@dataclass
class CopiedPart:
    """A transaction that is fed with rows by the statement `into`, and ended by `closing`.

    `more` are values of further columns behind the rows' own, the same in every row.
    """

    target: Target
    session: Any
    into: Any
    closing: Any
    more: tuple[str, ...] = ()
    _copy: Any = field(init=False, default=None)
    _held: ExitStack = field(init=False, default_factory=ExitStack)

    def write(self, rows: Any) -> None:
        """Copy some rows."""
        import pyarrow as pa

        with told(self.target):
            if self._copy is None:
                self.session.execute("begin")
                cursor = self._held.enter_context(self.session.cursor())
                self._copy = self._held.enter_context(cursor.copy(self.into))
            for number, value in enumerate(self.more):
                cells = pa.repeat(pa.scalar(value), rows.num_rows)
                rows = rows.append_column(f"_more_{number}", cells)
            self._copy.write(as_csv(rows))

    def pre_commit(self) -> None:
        """Make what was written durable."""
        with told(self.target):
            self._held.close()
            self.session.execute(self.closing)
        self.session.close()

    def abort(self) -> None:
        """Hang up, which rolls back what is not closed."""
        self.session.close()
