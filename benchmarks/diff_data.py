"""The rows for measurements of comparisons: six columns, and a side for each kind of difference.

`o` has a thousand of each of the four differences, `same` has no difference, `all` a change in
every row. The expected side is sorted by its key. The observed sides are unsorted, like the output
of a stream, and not in the order of the key's hash, by which the judge splits them.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

PLANTED = 1000
COLUMNS = "id, k, v, amount, item, ts"


@contextmanager
def sides(rows: int) -> Iterator[Path]:
    """Write the files with this many rows a side into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="onceproof-bench-") as folder:
        with duckdb.connect(config={"memory_limit": "2GB"}) as connection:
            connection.execute("set TimeZone = 'UTC'")
            for name, query in _queries(rows, f"'{folder}/e.parquet'").items():
                order = "" if name == "e" else "order by hash(id, 6)"
                connection.execute(f"copy (from ({query}) {order}) to '{folder}/{name}.parquet'")
        yield Path(folder)


def _queries(rows: int, expected: str) -> dict[str, str]:
    every = rows // PLANTED
    return {
        "e": "select i::bigint as id, (hash(i, 1) % 1000)::int as k, "
        "(hash(i, 2) % 1000000)::bigint as v, "
        "((hash(i, 3) % 10000000) / 100)::decimal(12, 2) as amount, "
        "'item-' || (hash(i, 4) % 100000000) as item, "
        "timestamptz '2024-01-01' + to_microseconds((i * 1000 + hash(i, 5) % 1000)::bigint) as ts "
        f"from range({rows}) t(i)",
        "o": f"select * replace (case when id % {every} = 3 then v + 1 else v end as v) from ("
        f"select * from {expected} where id % {every} <> 0 "
        f"union all select * from {expected} where id % {every} = 1 "
        f"union all select * replace (id + {rows} as id) from {expected} where id % {every} = 2)",
        "same": f"from {expected}",
        "all": f"select * replace (v + 1 as v) from {expected}",
    }
