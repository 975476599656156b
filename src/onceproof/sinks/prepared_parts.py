"""PostgreSQL as a store of two-phase commit: a part is a transaction that its task prepares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onceproof.errors import RequestError
from onceproof.polling import wait_for
from onceproof.sinks.copied_part import CopiedPart
from onceproof.sinks.protocol import Part
from onceproof.sinks.sessions import told
from onceproof.sinks.tables import columns, copying, table
from onceproof.sinks.writer_session import WriterSession

_HEAD = "onceproof:"
_BUSY_AT_MOST_S = 10.0


@dataclass(frozen=True)
class PreparedParts:
    """The prepared transactions of one writer."""

    session: WriterSession

    def check(self) -> None:
        """Raise `RequestError` where no transaction can be prepared, which is PostgreSQL's own."""
        ((most,),) = self.session.ask("select current_setting('max_prepared_transactions')::int")
        if not most:
            raise RequestError(
                "max_prepared_transactions of the store is 0, so two-phase commit cannot be: set it"
                " to twice the number of partitions or more, and restart the store"
            )

    def begin(self, part: Part) -> CopiedPart:
        """Begin the transaction of a part."""
        from psycopg import sql

        target = self.session.target
        with told(target):
            session = self.session.of_task(part.epoch)
        into = copying(table(target), columns(target))
        gid = sql.Literal(_gid(part, session.info.dbname))
        return CopiedPart(target, session, into, sql.SQL("prepare transaction {}").format(gid))

    def open(self) -> Sequence[Part]:
        """Return the parts that are prepared."""
        found = self.session.ask(
            "select gid from pg_prepared_xacts where database = current_database()"
            " and starts_with(gid, %s) order by gid",
            f"{_HEAD}{self.session.writer}:",
        )
        return [Part.of(gid.removeprefix(_HEAD).partition("@")[0]) for (gid,) in found]

    def commit(self, part: Part) -> None:
        """Commit a prepared transaction."""
        self._end("commit", part)

    def abort(self, part: Part) -> None:
        """Roll a prepared transaction back."""
        self._end("rollback", part)

    def _end(self, verb: str, part: Part) -> None:
        """End a transaction; where another session is just doing that, wait until it has."""
        from psycopg import sql
        from psycopg.errors import ObjectNotInPrerequisiteState, UndefinedObject

        def has_ended() -> bool:
            session = self.session.open()
            gid = sql.Literal(_gid(part, session.info.dbname))
            try:
                session.execute(sql.SQL(f"{verb} prepared {{}}").format(gid))
            except UndefinedObject:
                return True
            except ObjectNotInPrerequisiteState:
                return False
            return True

        with told(self.session.target):
            wait_for(has_ended, _BUSY_AT_MOST_S, f"{part.name} is held by another session")


def _gid(part: Part, database: str) -> str:
    """Return the name of a transaction, which must be unique over all databases of the server."""
    return f"{_HEAD}{part.name}@{database}"
