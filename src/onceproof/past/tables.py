"""The tables of the verdict history, migrated under a lock."""

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

# Named after us, because the database may have tables of other applications.
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

# A number is never reused: a policy that allows issue 3 must not come to allow another.
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
_LOCK = 0x6F6E6365  # the advisory lock of migrations
_WRITE = "write postgresql://user@host/database, or the path of a file"


def open_engine(address: str) -> tuple[Engine, str]:
    """Return the database of an address, and a label for it without the password."""
    if "://" not in address:
        return _sqlite(Path(address)), address
    url = _parse(address)
    label = f"postgresql://{url.host or ''}{f':{url.port}' if url.port else ''}/{url.database}"
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,
        connect_args={"connect_timeout": _WAITS_S},
        hide_parameters=True,
    )
    return engine, label


def migrate(engine: Engine, label: str) -> None:
    """Create or migrate the tables if necessary; safe for concurrent callers."""
    with database_errors(label), engine.connect() as connection:
        if _version(connection, label) == REVISIONS[-1]:
            return
    if engine.dialect.name == "sqlite":
        _keep_a_write_ahead_log(engine, label)
    with database_errors(label), engine.execution_options(writes=True).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"set local lock_timeout = '{_WAITS_S}s'"))
            connection.execute(text(f"select pg_advisory_xact_lock({_LOCK})"))
        if _version(connection, label) != REVISIONS[-1]:
            _upgrade(connection)


@contextmanager
def database_errors(label: str) -> Iterator[None]:
    """Turn exceptions of the database into an `EvidenceError` of one sentence."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        message = " ".join(str(getattr(error, "orig", None) or error).split())
        raise EvidenceError(f"the verdict history {label} cannot be used: {message}") from None


def _parse(address: str) -> URL:
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise RequestError(f"the verdict history's address is not a URL; {_WRITE}") from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise RequestError(f"unknown database {url.drivername!r} of a verdict history; {_WRITE}")
    if "@" in (url.host or ""):
        raise RequestError("the verdict history's URL has two @; write %40 for an @ in a password")
    return url


def _sqlite(path: Path) -> Engine:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with suppress(OSError):  # SQLite reports it
            path.touch(0o600)  # SQLite gives its other files the same mode
    url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _WAITS_S})

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # `began` begins transactions

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        # A writer that begins as a reader could fail later; one that waits for the lock cannot
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _keep_a_write_ahead_log(engine: Engine, label: str) -> None:
    # Readers and a writer can then work at the same time; the file stores the mode. SQLite does not
    # wait for locks here, unlike everywhere else.
    with database_errors(label), engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection

        def is_kept() -> bool:
            try:
                return bool(raw.execute("pragma journal_mode = wal").fetchone())
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    return False
                raise

        wait_for(is_kept, _WAITS_S, f"the verdict history {label} stays locked")


def _version(connection: Connection, label: str) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"select version_num from {VERSION_TABLE}")).scalar()  # noqa: S608
    if found is not None and found not in REVISIONS:
        raise RequestError(
            f"the verdict history {label} has version {found}, but this onceproof supports"
            f" {REVISIONS[-1]}; install a newer one, or name another history"
        )
    return found


def _upgrade(connection: Connection) -> None:
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it logs each step and import
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
