"""The environment of each run's job, and the effects of its faults; unknown in older rows."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add both columns to the runs."""
    for column in (
        sa.Column("ran_on", sa.Text, nullable=False, server_default=""),
        sa.Column("effects", sa.JSON, nullable=False, server_default="[]"),
    ):
        op.add_column("onceproof_runs", column)
