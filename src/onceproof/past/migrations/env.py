"""Alembic's entry: the migrations run on the connection that `opening` hands over, locked."""

from alembic import context

from onceproof.past.tables import METADATA, VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
)
context.run_migrations()
