"""The tables of the verdict history: opened in its database, brought up to date under a lock."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    URL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Date,
    DateTime,
    Engine,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    inspect,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from onceproof.errors import EvidenceError, RequestError
from onceproof.machine.polling import wait_for

# Named after us, because the database may be somebody's who has tables of his own.
VERSION_TABLE = "onceproof_version"
REVISIONS = ("0001", "0002", "0003", "0004")  # every migration, the newest last
METADATA = MetaData()

RUNS = Table(
    "onceproof_runs",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("run", Text, nullable=False, unique=True),
    Column("directory", Text, nullable=False),
    Column("scenario", Text, nullable=False),
    Column("seed", BigInteger),
    Column("subject", Text, nullable=False),
    Column("night", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("verdict", Text, nullable=False),
    Column("claims", Text, nullable=False),
    Column("as_claimed", Boolean, nullable=False),
    Column("hold_to", Text, nullable=False),
    Column("reasons", JSON, nullable=False),
    Column("findings", JSON, nullable=False),
    Column("differences", JSON, nullable=False),
    Column("broken", JSON, nullable=False),
    Column("faults", Integer, nullable=False),
    Column("landed", Integer, nullable=False),
    Column("recovery_s", Float),
    Column("seconds", Float, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("verdict_digest", Text, nullable=False),
    Column("ran_on", Text, nullable=False, server_default=""),
    Column("effects", JSON, nullable=False, server_default="[]"),
    Column("pruned", Boolean, nullable=False),
)

NIGHTS = Table(
    "onceproof_nights",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("asked", JSON, nullable=False),
)

# A number is never given twice: a policy that allows issue 3 must not come to allow another.
ISSUES = Table(
    "onceproof_issues",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("name", Text, unique=True),
    Column("scenario", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("until", Date, nullable=False),
    Column("pattern", Text, nullable=False),
    Column("classes", JSON, nullable=False),
    Column("checkers", JSON, nullable=False),
    Column("run", Text, nullable=False),
    Column("added", DateTime(timezone=True), nullable=False),
    Column("hold_to", Text, nullable=False),
    Column("at_most", JSON, nullable=False),
    Column("sentences", JSON, nullable=False),
    sqlite_autoincrement=True,
)


_WAITS_S = 30
_LOCK = 0x6F6E6365  # the advisory lock of whoever makes the tables
_WRITE = "write postgresql://user@host/database, or the path of a file"


def open_engine(address: str) -> tuple[Engine, str]:
    """Return the database of an address, and the words that people know it by: never a password."""
    if "://" not in address:
        return _sqlite(Path(address)), address
    url = _parse(address)
    shown = f"postgresql://{url.host or ''}{f':{url.port}' if url.port else ''}/{url.database}"
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,
        connect_args={"connect_timeout": _WAITS_S},
        hide_parameters=True,
    )
    return engine, shown


def migrate(engine: Engine, shown: str) -> None:
    """Make or change the tables if they are not those of this version; any number may at once."""
    with told(shown), engine.connect() as connection:
        if _version(connection, shown) == REVISIONS[-1]:
            return
    if engine.dialect.name == "sqlite":
        _keep_a_write_ahead_log(engine, shown)
    with told(shown), engine.execution_options(writes=True).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"set local lock_timeout = '{_WAITS_S}s'"))
            connection.execute(text(f"select pg_advisory_xact_lock({_LOCK})"))
        if _version(connection, shown) != REVISIONS[-1]:
            _upgrade(connection)


@contextmanager
def told(shown: str) -> Iterator[None]:
    """Turn what the database raises into one sentence."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        said = " ".join(str(getattr(error, "orig", None) or error).split())
        raise EvidenceError(f"the verdict history {shown} cannot be used: {said}") from None


def _parse(address: str) -> URL:
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise RequestError(f"the verdict history's address is no URL: {_WRITE}") from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise RequestError(f"a verdict history cannot be in {url.drivername!r}: {_WRITE}")
    if "@" in (url.host or ""):
        raise RequestError("the verdict history's URL has two @: write %40 for one in a password")
    return url


def _sqlite(path: Path) -> Engine:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with suppress(OSError):  # SQLite says it in a sentence
            path.touch(0o600)  # it gives its other files the same mode
    url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _WAITS_S})

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions begin where `began` says so

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        # A writer that began as a reader could be refused in its midst; one that waits first is not
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _keep_a_write_ahead_log(engine: Engine, shown: str) -> None:
    """Let readers and a writer work at once; the file remembers it.

    SQLite does not wait for others here, as it does everywhere else.
    """
    with told(shown), engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection

        def is_kept() -> bool:
            try:
                return bool(raw.execute("pragma journal_mode = wal").fetchone())
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    return False
                raise

        wait_for(is_kept, _WAITS_S, f"the verdict history {shown} stays locked")


def _version(connection: Connection, shown: str) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"select version_num from {VERSION_TABLE}")).scalar()  # noqa: S608
    if found is not None and found not in REVISIONS:
        raise RequestError(
            f"the verdict history {shown} is of version {found}, and this onceproof knows"
            f" {REVISIONS[-1]}: install a newer one, or name another history"
        )
    return found


def _upgrade(connection: Connection) -> None:
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells of each step, and of imports
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
