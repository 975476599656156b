"""The only module that opens DuckDB and reads parquet with it.

Two of its defaults give wrong answers here, so no other module may call `duckdb.connect` or write
`read_parquet` into a query:

- a folder `name=value` anywhere in a file's absolute path becomes a column that replaces the file's
  own (`hive_partitioning`);
- parquet's statistics leave NaN out, and DuckDB 2.0 derives the range of `hash()` from them: a
  group by the hash of a float column that holds NaN and one other value writes out of bounds, or
  into the wrong group. See docs/upstream/duckdb-nan-statistics.md.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

LIMITS: Mapping[str, Any] = {"memory_limit": "1GB", "threads": "2"}
_SAFE = {
    "disabled_optimizers": "statistics_propagation",
    "autoinstall_known_extensions": False,
}


def open_database(settings: Mapping[str, Any] = LIMITS) -> Any:
    """Open DuckDB in memory with these settings and the safe ones.

    The progress bar is off: it would be printed to standard output, into the output of `--json`.
    """
    import duckdb

    connection = duckdb.connect(config={**settings, **_SAFE})
    connection.execute("set enable_progress_bar = false")
    return connection


def cursor() -> Any:
    """Return a cursor for queries that create no table; views and variables are its own.

    All cursors of a process share one database, since opening one takes 13 ms of CPU time. DuckDB
    refuses every query after a fatal error in one of them: then there is a new database.
    """
    import duckdb

    found = _shared().cursor()
    try:
        found.execute("select 1").fetchall()
    except duckdb.FatalException:
        _shared.cache_clear()
        return _shared().cursor()
    return found


@cache
def _shared() -> Any:
    return open_database()


def read_parquet(files: Iterable[str | os.PathLike[str]], *options: str) -> str:
    """Return the SQL that reads these files; names of folders do not become columns."""
    parts = [listed(files), "hive_partitioning=false", *options]
    return f"read_parquet({', '.join(parts)})"


def listed(files: Iterable[str | os.PathLike[str]]) -> str:
    """Return paths as SQL, with DuckDB's pattern characters escaped."""
    return "[" + ", ".join(literal(glob.escape(os.fspath(path))) for path in files) + "]"


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
