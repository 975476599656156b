"""PostgreSQL sessions with the settings that sinks rely on, and their errors as `StackError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.variables import conceal, resolve


def connect(target: Target, name: str = "onceproof") -> Any:
    """Return a connection to the target's store with the application name `name`.

    Turns `synchronous_commit` on if it is off: after an acknowledged commit the engine never sends
    the rows again, so they must be durable.
    """
    import psycopg

    connection = psycopg.connect(
        resolve(target.address),
        connect_timeout=10,
        options="-c timezone=UTC -c datestyle=ISO",
        application_name=name,
        autocommit=True,
    )
    connection.execute(
        "select set_config('synchronous_commit', 'on', false)"
        " where current_setting('synchronous_commit') = 'off'"
    )
    connection.autocommit = False
    return connection


@contextmanager
def transaction(target: Target) -> Iterator[Any]:
    """Yield a connection for one transaction; errors of the store raise `StackError`."""
    with as_stack_error(target), connect(target) as connection:
        yield connection


@contextmanager
def as_stack_error(target: Target) -> Iterator[None]:
    """Raise errors of the store as `StackError`, in one line and without secrets."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        why = conceal(" ".join(str(error).split()), target.address)
        raise StackError(f"the store failed an operation on {target.name}: {why}") from error
