"""The tables of the verdict history, as its newest migration leaves them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
)

# Named after us, because the database may be somebody's who has tables of his own.
VERSION_TABLE = "onceproof_version"
REVISIONS = ("0001", "0002", "0003")  # every migration, the newest last
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
