"""Whether what a job writes can be read: its table or folder, its columns, its key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onceproof.errors import OnceproofError
from onceproof.references.declared import reference_of
from onceproof.scenario import Scenario
from onceproof.setup.checks import Check
from onceproof.sinks import Target, find_sink
from onceproof.sinks.outputs import is_output
from onceproof.sinks.tables.sessions import transaction

_MAY_BE_EMPTIED = "write empty: true if it may be emptied, or leave it out for one of the run's own"


def check_output(scenario: Scenario, address: str) -> Iterator[Check]:
    """Look at the output of a job of somebody else; of a sink of ours nothing need be there."""
    kind, options = (
        find_sink(scenario.output.sink, scenario.output.options),
        scenario.output.options,
    )
    if not is_output(kind):
        return
    named = options.get(kind.place.called)
    if kind.store == "files" and named:
        yield _folder(Path(named), bool(options.get("empty")))
    elif kind.store == "postgresql" and named:
        yield from _table(scenario, address, named)
    elif kind.store in ("files", "postgresql"):
        yield Check("output", True, "the run's own, {target} in the command")


def _folder(path: Path, may_be_emptied: bool) -> Check:
    if path.exists() and not path.is_dir():
        return Check("output", False, f"{path} is a file", "write the folder of the files")
    if path.is_dir() and any(path.iterdir()) and not may_be_emptied:
        return Check("output", False, f"{path} holds files already", _MAY_BE_EMPTIED)
    return Check("output", True, str(path) if path.is_dir() else f"{path}: the job makes it")


def _table(scenario: Scenario, address: str, name: str) -> Iterator[Check]:
    reference = reference_of(scenario.output)
    target = Target(address, name, reference.columns, reference.key)
    try:
        with transaction(target) as connection:
            has_rows, columns = _look(connection, name)
    except OnceproofError as error:
        yield Check("output", False, str(error), "write table: schema.table, as the store knows it")
        return
    if columns is None:
        yield Check("output", True, f"there is no {name}: the job makes it, or `create` does")
        return
    if has_rows and not scenario.output.options.get("empty"):
        yield Check("output", False, f"{name} holds rows already", _MAY_BE_EMPTIED)
    else:
        yield Check("output", True, name)
    missing = [one for one in target.columns if one not in columns]
    told = f"{name} has {', '.join(columns)}"
    remedy = f"there is no {', '.join(missing)}: write `key` and `columns` as the table has them"
    yield Check("key and columns", not missing, told, remedy)


def _look(connection: Any, name: str) -> tuple[bool, list[str] | None]:
    """Return whether a table has rows, and its columns; None where there is no table."""
    from psycopg import sql

    if connection.execute("select to_regclass(%s)", [name]).fetchone()[0] is None:
        return False, None
    query = sql.SQL("select * from {} limit 1").format(sql.Identifier(*name.split(".")))
    found = connection.execute(query)
    return found.fetchone() is not None, [one.name for one in found.description]
