"""The limits of a known issue: its rows of each class, its other sentences, and its promise."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ISSUES = sa.table(
    "onceproof_issues",
    sa.column("number", sa.Integer),
    sa.column("run", sa.Text),
    sa.column("classes", sa.JSON),
    sa.column("hold_to", sa.Text),
    sa.column("at_most", sa.JSON),
    sa.column("sentences", sa.JSON),
)
_RUNS = sa.table(
    "onceproof_runs",
    sa.column("run", sa.Text),
    sa.column("verdict", sa.Text),
    sa.column("hold_to", sa.Text),
    sa.column("differences", sa.JSON),
    sa.column("reasons", sa.JSON),
)


def upgrade() -> None:
    """Add the columns, filled from the run of each issue; without a run it accepts nothing."""
    for column in (
        sa.Column("hold_to", sa.Text, nullable=False, server_default=""),
        sa.Column("at_most", sa.JSON, nullable=False, server_default="{}"),
        sa.Column("sentences", sa.JSON, nullable=False, server_default="[]"),
    ):
        op.add_column("onceproof_issues", column)
    asked = sa.select(
        _ISSUES.c.number, _ISSUES.c.classes, _RUNS.c.verdict, _RUNS.c.hold_to,
        _RUNS.c.differences, _RUNS.c.reasons,
    ).join_from(_ISSUES, _RUNS, _ISSUES.c.run == _RUNS.c.run)  # fmt: skip
    for issue in op.get_bind().execute(asked).all():
        filled = sa.update(_ISSUES).where(_ISSUES.c.number == issue.number)
        op.execute(
            filled.values(
                hold_to=issue.hold_to,
                at_most={name: issue.differences.get(name, 0) for name in issue.classes},
                sentences=issue.reasons[:1] if issue.verdict == "PASS" else issue.reasons,
            )
        )
