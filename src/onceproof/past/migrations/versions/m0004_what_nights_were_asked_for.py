"""The scenarios and seeds of each night; unknown for older nights."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the table of nights."""
    op.create_table(
        "onceproof_nights",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asked", sa.JSON, nullable=False),
    )
