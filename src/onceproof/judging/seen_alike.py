"""A fast check in DuckDB that the last poll of a reader has the rows of `observed/`.

`seen_rows` takes a minute for many rows, since each becomes a Python object. This check handles
only columns of integers, text and booleans, and only ever confirms that rows are equal; everything
else is left to `seen_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from onceproof.database import quoted, read_parquet
from onceproof.judging.seen_rows import Shape
from onceproof.runs.ledger import parquet_files
from onceproof.runs.reads import Reads
from onceproof.sinks.files.parquet_rows import WROTE

_WHOLE = ("BIGINT", ("BIGINT", "UBIGINT"))
# By Spark's name: DuckDB's type in parquet, and the JSON types of such a cell.
_KINDS = {
    "bigint": _WHOLE,
    "int": ("INTEGER", _WHOLE[1]),
    "string": ("VARCHAR", ("VARCHAR",)),
    "boolean": ("BOOLEAN", ("BOOLEAN",)),
}


def certainly_alike(reads: Reads, shape: Shape, folder: Path) -> bool:
    """Return True if the rows, copies included, are equal; False if that is not certain."""
    import duckdb

    if any(kind not in _KINDS for kind in shape.columns.values()):
        return False
    files = read_parquet(parquet_files(folder), "union_by_name=true")
    try:
        described = reads.ask(f"describe from {files}")
        types = {name: kind for name, kind, *_ in described}
        if not _are_known(types, shape):
            return False
        return not reads.count(_differing(shape, types, files))
    except duckdb.Error:
        return False  # such as text that is not JSON


def _are_known(types: dict[str, str], shape: Shape) -> bool:
    wanted = {name: _KINDS[kind][0] for name, kind in shape.columns.items()}
    signed = {name: "BIGINT" for name in (*WROTE, shape.version) if name in types}
    return all(types.get(name) == kind for name, kind in {**wanted, **signed}.items())


def _differing(shape: Shape, types: dict[str, str], files: str) -> str:
    """Return the query that counts the rows in which the sides differ."""
    of_key, of_value = shape.texts
    kinds = [shape.columns[name] for name in (*of_key, *of_value)]
    polled = [
        *_cells("key", len(of_key), kinds),
        *_cells("value", len(of_value), kinds[len(of_key) :]),
    ]
    there = [f"{quoted(name)}::varchar" for name in (*of_key, *of_value)]
    signs = [quoted(name) if name in types else "null::bigint" for name in (shape.version, *WROTE)]
    names = ", ".join(f"c{place}" for place in range(len(kinds)))
    return f"""
        select count(*) from (
            select sum(copies) from (
                select {_named(polled)}, version, batch, attempt, copies from (
                    select *, {_parsed("key", len(of_key))}, {_parsed("value", len(of_value))}
                    from reads)
                union all
                select {_named(there)}, {", ".join(signs)}, -1 from {files}
            ) group by {names}, version, batch, attempt having sum(copies) <> 0)"""  # noqa: S608


def _parsed(text: str, cells: int) -> str:
    """Return the SQL of a JSON array's length, texts and types."""
    paths = [f"$[{place}]" for place in range(cells)]
    return (
        f"json_array_length({text}) as {text}_cells, json_type({text}) as {text}_is,"
        f" json_extract_string({text}, {paths}) as {text}_texts,"
        f" json_type({text}, {paths}) as {text}_types"
    )


def _cells(text: str, cells: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield the SQL of each cell of such an array; it raises if the cell is of another type."""
    for place, kind in enumerate(kinds[:cells], 1):
        allowed = ", ".join(f"'{one}'" for one in (*_KINDS[kind][1], "NULL"))
        is_array = f"{text}_is = 'ARRAY' and {text}_cells = {cells}"
        fits = f"{is_array} and {text}_types[{place}] in ({allowed})"
        yield f"case when {fits} then {text}_texts[{place}] else error('another text') end"


def _named(cells: Sequence[str]) -> str:
    return ", ".join(f"{cell} as c{place}" for place, cell in enumerate(cells))
