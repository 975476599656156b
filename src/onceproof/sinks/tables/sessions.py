"""Sessions with PostgreSQL: opened, told what a sink relies on, and their errors in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onceproof.errors import StackError
from onceproof.sinks import Target
from onceproof.variables import concealed, revealed


def connect(target: Target, name: str = "onceproof") -> Any:
    """Return a connection to the target's store, which `name` tells from others there.

    Where the store would answer before a commit is on its disk, it is told not to: the engine
    goes on after the answer, and never sends those rows again.
    """
    import psycopg

    connection = psycopg.connect(
        revealed(target.address),
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
    """Yield a connection for one transaction; what the store refuses raises `StackError`."""
    with told(target), connect(target) as connection:
        yield connection


@contextmanager
def told(target: Target) -> Iterator[None]:
    """Raise what the store refuses as `StackError`, in one sentence."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        said = concealed(" ".join(str(error).split()), target.address)
        raise StackError(f"the store did not do what {target.name} needs: {said}") from error
