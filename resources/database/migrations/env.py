"""Alembic's entry: runs the chain on the connection that `resources.database.migrate` hands over."""

from __future__ import annotations

from alembic import context

from resources.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=False,
    render_as_batch=False,
)
with context.begin_transaction():
    context.run_migrations()
