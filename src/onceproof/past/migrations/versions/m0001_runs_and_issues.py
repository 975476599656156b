"""The first tables: judged runs, and known issues."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make both tables."""
    _make_runs()
    _make_issues()


def _make_runs() -> None:
    op.create_table(
        "onceproof_runs",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run", sa.Text, nullable=False, unique=True),
        sa.Column("directory", sa.Text, nullable=False),
        sa.Column("scenario", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("night", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("claims", sa.Text, nullable=False),
        sa.Column("as_claimed", sa.Boolean, nullable=False),
        sa.Column("hold_to", sa.Text, nullable=False),
        sa.Column("reasons", sa.JSON, nullable=False),
        sa.Column("findings", sa.JSON, nullable=False),
        sa.Column("differences", sa.JSON, nullable=False),
        sa.Column("broken", sa.JSON, nullable=False),
        sa.Column("faults", sa.Integer, nullable=False),
        sa.Column("landed", sa.Integer, nullable=False),
        sa.Column("recovery_s", sa.Float),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("tags", sa.JSON, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
        sa.Column("verdict_digest", sa.Text, nullable=False),
        sa.Column("pruned", sa.Boolean, nullable=False),
    )


def _make_issues() -> None:
    op.create_table(
        "onceproof_issues",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, unique=True),
        sa.Column("scenario", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("until", sa.Date, nullable=False),
        sa.Column("pattern", sa.Text, nullable=False),
        sa.Column("classes", sa.JSON, nullable=False),
        sa.Column("checkers", sa.JSON, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sqlite_autoincrement=True,
    )
