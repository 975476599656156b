"""Single mutations of a run's evidence: each changes one thing, and has a name.

A mutation's `label` is equal for equal places, with `#` for numbers; its `name` includes the place,
so that the mutation can be repeated.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

Changes = dict[str, bytes | None]  # what a file holds then, by its path; None where it is gone
OUTPUTS = ("verdict.json", "report.html", "junit.xml")  # what the judge itself writes
ROWS = ("ledger", "reads", "expected", "observed", "differences", "late", "checkpoint-log")
COMPARED = ("expected", "observed", "differences")
WHOLE = ("ran-on/",)  # thousands of fields, which are judged by the digest of their file alone
DIGITS = re.compile(r"[0-9a-f]{8,}(-[0-9a-f]{4,})*|\d+")
_MOST_FILES = 3  # of the parquet files of a folder, so many have their rows mutated


@dataclass(frozen=True)
class Mutation:
    """One change; `place` is where it is among those of its label."""

    label: str
    place: str
    make: Callable[[], Changes]

    @property
    def name(self) -> str:
        return f"{self.label} @ {self.place}"


def mutations(run: Path, other: Path | None, rng: Random) -> Iterator[Mutation]:
    """Yield every mutation of a run; what is swapped comes from the other run."""
    files = sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file())
    files = [name for name in files if name not in OUTPUTS]
    yield from of_history(run / "history.jsonl")
    for name in files:
        yield from of_file(run, name, other)
        if name.endswith(".json") and not name.startswith(WHOLE):
            yield from of_document(run, name)
    for folder in ROWS:
        tables = [one for one in files if one.startswith(f"{folder}/") and one.endswith("parquet")]
        for name in rng.sample(tables, min(_MOST_FILES, len(tables))):
            yield from of_rows(run, name, rng)
    if other:
        for folders in (*((one,) for one in ROWS), COMPARED):
            yield from of_folders(run, folders, other)


def of_history(path: Path) -> Iterator[Mutation]:
    """Yield each record dropped, with the others numbered anew, and each field of it changed."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]

    def lines(found: list[dict[str, Any]]) -> Changes:
        return {path.name: b"".join(json.dumps(one).encode() + b"\n" for one in found)}

    for at, record in enumerate(records):
        head = f"history.jsonl {record['op']}"
        yield Mutation(
            f"{head} dropped", f"seq {at + 1}", lambda at=at: lines(_without(records, at))
        )
        yield Mutation(f"{head} cut in the middle", f"seq {at + 1}", lambda at=at: _cut(path, at))
        for where, kind, changed in of_value(record):
            yield Mutation(
                f"{head} {DIGITS.sub('#', where)} {kind}",
                f"seq {at + 1} {where}",
                lambda at=at, changed=changed: lines(
                    [*records[:at], changed(), *records[at + 1 :]]
                ),
            )


def _without(records: list[dict[str, Any]], gone: int) -> list[dict[str, Any]]:
    found = json.loads(json.dumps([*records[:gone], *records[gone + 1 :]]))
    for seq, one in enumerate(found, 1):
        one["seq"] = seq
        since = one.get("proof", {}).get("since", 0)
        if isinstance(since, int) and since > gone:
            one["proof"]["since"] = since - 1
    return found


def _cut(path: Path, at: int) -> Changes:
    lines = path.read_bytes().splitlines(keepends=True)
    return {path.name: b"".join([*lines[:at], lines[at][: len(lines[at]) // 2]])}


def of_document(run: Path, name: str) -> Iterator[Mutation]:
    """Yield each field of a JSON document dropped and changed."""
    try:
        document = json.loads((run / name).read_text())
    except ValueError:
        return
    for where, kind, changed in of_value(document):
        label = f"{generic(name)} {DIGITS.sub('#', where)} {kind}"

        def made(changed: Callable[[], Any] = changed) -> Changes:
            return {name: json.dumps(changed()).encode()}

        yield Mutation(label, f"{name} {where}", made)


def of_value(document: Any) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield each place in a JSON value, the kind of change, and what makes it in a copy."""
    for path, value in _places(document):
        where = ".".join(map(str, path))
        kinds = {"null": None, "other": _other(value), "retyped": _retyped(value)}
        if value is None:
            kinds.pop("null")
        yield where, "dropped", lambda path=path: _changed(document, path)
        for kind, new in kinds.items():
            yield where, kind, lambda path=path, new=new: _changed(document, path, new)


_GONE = object()


def _changed(document: Any, path: tuple[Any, ...], new: Any = _GONE) -> Any:
    found = json.loads(json.dumps(document))
    holder = found
    for step in path[:-1]:
        holder = holder[step]
    if new is _GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return found


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _places(one, (*path, name))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _places(one, (*path, at))


def _other(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list):
        return value[:-1] if value else ["x"]
    return {} if value else {"x": 1}


def _retyped(value: Any) -> Any:
    return 7 if isinstance(value, str) else "x"


def of_file(run: Path, name: str, other: Path | None) -> Iterator[Mutation]:
    """Yield a file removed, cut, and with the contents that it has in another run."""
    content = (run / name).read_bytes()
    kinds: dict[str, bytes | None] = {"removed": None}
    if content:
        kinds |= {"cut": content[: len(content) // 2]}
    if other and (other / name).is_file() and (theirs := (other / name).read_bytes()) != content:
        kinds |= {"swapped": theirs}
    for kind, new in kinds.items():
        yield Mutation(f"{generic(name)} {kind}", name, lambda new=new: {name: new})


def of_folders(run: Path, folders: tuple[str, ...], other: Path) -> Iterator[Mutation]:
    """Yield folders with all that they hold in another run."""

    def made() -> Changes:
        found: Changes = {}
        for root, is_mine in ((run, True), (other, False)):
            for folder in folders:
                for path in (root / folder).rglob("*"):
                    if path.is_file():
                        name = str(path.relative_to(root))
                        found[name] = None if is_mine else path.read_bytes()
        return found

    yield Mutation(f"{'+'.join(folders)} swapped", "whole", made)


def of_rows(run: Path, name: str, rng: Random) -> Iterator[Mutation]:
    """Yield a row dropped, twice, and changed in each column, half of all, and a column gone."""
    table = parquet.read_table(run / name, partitioning=None)
    if not table.num_rows:
        return
    at, head = rng.randrange(table.num_rows), generic(name)
    rest = pa.concat_tables([table.slice(0, at), table.slice(at + 1)])
    changes: dict[str, Callable[[], pa.Table]] = {
        "row dropped": lambda: rest,
        "row twice": lambda: pa.concat_tables([table, table.slice(at, 1)]),
    }
    if table.num_rows > 1:
        changes["half of rows dropped"] = lambda: table.slice(table.num_rows // 2)
    for column in table.schema.names:
        changes[f"{column} of a row other"] = lambda column=column: _edited(table, column, at)
        if table.column(column)[at].is_valid:
            changes[f"{column} of a row null"] = lambda one=column: _edited(table, one, at, True)
        changes[f"{column} dropped"] = lambda column=column: table.drop_columns([column])
    for kind, make in changes.items():

        def made(make: Callable[[], pa.Table] = make) -> Changes:
            out = io.BytesIO()
            parquet.write_table(make(), out)
            return {name: out.getvalue()}

        yield Mutation(f"{head} {kind}", f"{name} row {at}", made)


def _edited(table: pa.Table, column: str, at: int, is_null: bool = False) -> pa.Table:
    values = table.column(column).to_pylist()
    values[at] = None if is_null else _other_cell(values[at], table.schema.field(column).type)
    place = table.schema.get_field_index(column)
    kind = table.schema.field(column).type
    return table.set_column(place, pa.field(column, kind), pa.array(values, kind))


def _other_cell(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return "x" if pa.types.is_string(kind) else 7
    if pa.types.is_temporal(kind):
        return pa.scalar(value, kind).cast(pa.int64()).as_py() + 1
    if isinstance(value, bytes):
        return value + b"x"
    if isinstance(value, bool | int | float | str):
        return _other(value)
    return value + 1 if hasattr(value, "as_tuple") else None


def generic(name: str) -> str:
    """Return a file's path with `#` for its numbers."""
    return DIGITS.sub("#", name)
