"""Folders of parquet or JSON lines that a user's job writes to.

If the folder has the manifest of Spark's file sink, readers use it, as Spark does. Otherwise every
file counts whose name does not begin with `_` or `.`; folders `name=value` are columns.
"""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from onceproof.errors import RequestError, StackError
from onceproof.machine.data_files import data_files
from onceproof.naming import whole
from onceproof.schema.kinds import Field
from onceproof.setup.checks import Check
from onceproof.sinks import Reader, Sink, Target
from onceproof.sinks.exact_cells import batch_of, cells_of, exact_text, from_json, unsigned
from onceproof.sinks.files.folders import File
from onceproof.sinks.files.parquet_rows import schema
from onceproof.sinks.files.reader import FolderReader, of_listed
from onceproof.sinks.files.reader import read as read_files
from onceproof.sinks.files.spark_files import MANIFEST, Manifest
from onceproof.sinks.outputs import EMPTY, MAY_BE_EMPTIED, Located, Place, is_own, output
from onceproof.sinks.outputs.all_columns import table_of, write_table

NAMED_BY = "folder"
_BOTH = "column {} is in the file and in the names of its folders"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile("-?(0|[1-9][0-9]*)")
Rows = Callable[[File, Target], Iterator[Any]]


def path_of(target: Target) -> Path:
    """Return the folder: the run's own, or the one that the options name."""
    return Path(target.address, target.name)


def prepare(ending: str, target: Target) -> None:
    """Create the parent folder; raises if the folder has files before the job starts."""
    folder = path_of(target)
    if target.options.get("empty") and folder.is_dir():
        _refuse_strangers(folder, ending)
        shutil.rmtree(folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise RequestError(
            f"{folder} has files before the job starts; write empty: true to let the run remove"
            " them, or leave `folder` out and let the job write to {target}"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)


def _refuse_strangers(folder: Path, ending: str) -> None:
    # a file of another kind means that the folder is more than an output
    for path in folder.rglob("*"):
        is_output = ending in path.name or path.name.endswith(".crc")
        is_own = any(part[0] == "_" for part in path.relative_to(folder).parts)
        if not (path.is_dir() or is_output or is_own):
            raise RequestError(
                f"{folder} has {path.relative_to(folder)}, which is not a {ending} file, so nothing"
                " was removed; name a folder that has only the output"
            )


def drop(target: Target) -> None:
    """Remove the folder if it is the run's own or may be emptied."""
    if is_own(target, NAMED_BY) or target.options.get("empty"):
        shutil.rmtree(path_of(target), ignore_errors=True)


def check(target: Target) -> Iterator[Check]:
    """Yield the check that a run can write to a folder of the user's."""
    path = path_of(target)
    if path.exists() and not path.is_dir():
        yield Check("output", False, f"{path} is a file", "write the folder of the files")
    elif path.is_dir() and any(path.iterdir()) and not target.options.get("empty"):
        yield Check("output", False, f"{path} has files already", MAY_BE_EMPTIED)
    else:
        yield Check("output", True, str(path) if path.is_dir() else f"{path}: the job creates it")


def files(target: Target, ending: str) -> Mapping[str, File]:
    """Return the visible files by their names; raises `StackError` for a file of another kind."""
    folder = path_of(target)
    if (folder / MANIFEST).is_dir():
        return Manifest(folder).files()
    found = {}
    try:
        for path in data_files(folder) if folder.is_dir() else ():
            name = str(path.relative_to(folder))
            if ending not in path.name.lower():
                raise StackError(
                    f"{folder} has {name}, which is not a {ending} file; let the job write it"
                    " elsewhere, or under a name that begins with _"
                )
            found[name] = File.of(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StackError(f"{error.filename} cannot be listed: {error.strerror}") from None
    return found


def of_parquet(file: File, target: Target) -> Iterator[Any]:
    """Yield a file's rows in record batches; raises `StackError` if they cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    wanted, named = schema(target), dict(_named(file.path, target))
    try:
        with (
            file.path.open("rb") as opened,
            parquet.ParquetFile(opened, coerce_int96_timestamp_unit="us") as found,
        ):
            for some in found.iter_batches():
                cells = [
                    _column(some, name, kind, named, wanted.field(name).type)
                    for name, kind in target.columns.items()
                ]
                yield unsigned(cells, some.num_rows, target)
    except (pa.ArrowException, KeyError, ValueError) as error:
        why = " ".join(str(error).split())
        raise StackError(f"{file.path.name} cannot be read: {why}") from None


def of_json(file: File, target: Target) -> Iterator[Any]:
    """Yield a file's rows; raises `StackError` for a line that is not a JSON object."""
    yield batch_of(target, objects(file, dict(_named(file.path, target))), file.path.name)


def objects(file: File, named: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines, with the columns in its folders' names."""
    opened: Any = gzip.open if file.path.suffix == ".gz" else open
    with opened(file.path, "rt", encoding="utf-8") as lines:
        try:
            return [_with(named, from_json(line)) for line in lines if line.strip()]
        except (ValueError, TypeError) as error:
            raise StackError(f"{file.path.name} is not JSON lines: {error}") from None


def _all_of_parquet(file: File, named: Mapping[str, Any]) -> Any:
    """Return a file's rows as a table, with the columns in its folders' names."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        with (
            file.path.open("rb") as opened,
            parquet.ParquetFile(opened, coerce_int96_timestamp_unit="us") as found,
        ):
            rows = found.read()
        for name, value in named.items():
            if name in rows.column_names:
                raise ValueError(_BOTH.format(name))
            rows = rows.append_column(name, pa.repeat(pa.scalar(value), rows.num_rows))
    except (pa.ArrowException, ValueError) as error:
        why = " ".join(str(error).split())
        raise StackError(f"{file.path.name} cannot be read: {why}") from None
    return rows


def _read_all_parquet(target: Target, folder: Path) -> None:
    import pyarrow as pa

    def read_all(found: Mapping[str, File]) -> Any:
        named = _all_named(found, target)
        parts = [_all_of_parquet(file, named[name]) for name, file in sorted(found.items())]
        empty = pa.table({name: pa.nulls(0) for name in target.columns})
        return pa.concat_tables(parts or [empty], promote_options="permissive")

    try:
        rows = of_listed(partial(_listed, target, ".parquet"), read_all)
    except pa.ArrowException as error:
        why = " ".join(str(error).split())
        raise StackError(f"the files of {path_of(target)} have no common columns: {why}") from None
    write_table(rows, folder)


def _read_all_json(target: Target, folder: Path) -> None:
    def read_all(found: Mapping[str, File]) -> list[dict[str, Any]]:
        named = _all_named(found, target)
        return [row for name, file in sorted(found.items()) for row in objects(file, named[name])]

    rows = of_listed(partial(_listed, target, ".json"), read_all)
    write_table(table_of(rows, target.columns), folder)


def _all_named(found: Mapping[str, File], target: Target) -> dict[str, dict[str, Any]]:
    """Return the columns in the names of each file's folders, by the file's name.

    A column is of whole numbers if every folder's value is one, as Spark reads it, otherwise text.
    """
    pairs = {
        name: [part.partition("=")[::2] for part in _folders(file.path, target) if "=" in part]
        for name, file in found.items()
    }
    texts = {(column, value) for some in pairs.values() for column, value in some if value != _NULL}
    words = {column for column, value in texts if not _WHOLE.fullmatch(value)}
    return {
        name: {
            column: None if value == _NULL else unquote(value) if column in words else int(value)
            for column, value in some
        }
        for name, some in pairs.items()
    }


def _folders(path: Path, target: Target) -> tuple[str, ...]:
    folder = path_of(target)
    return path.relative_to(folder).parts[:-1] if path.is_relative_to(folder) else ()


def _with(named: Mapping[str, Any], row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TypeError(f"{row!r} is not an object")
    if both := sorted(named.keys() & row.keys()):
        raise ValueError(_BOTH.format(both[0]))
    return {**named, **row}


def _named(path: Path, target: Target) -> Iterator[tuple[str, Any]]:
    """Yield the columns in the names of a file's folders; raises `StackError` for a bad value."""
    for part in _folders(path, target):
        name, sign, value = part.partition("=")
        if sign and name in target.columns:
            try:
                yield name, exact_text(name, value, target.columns[name])
            except ValueError as error:
                raise StackError(f"{path.name} is in a folder {part}: {error}") from None


def _column(rows: Any, name: str, kind: str, named: Mapping[str, Any], wanted: Any) -> Any:
    import pyarrow as pa

    if name in rows.schema.names and name in named:
        raise ValueError(_BOTH.format(name))
    if name in named:
        return pa.repeat(pa.scalar(named[name], wanted), rows.num_rows)
    if name not in rows.schema.names:
        raise KeyError(f"no column {name}; its columns are {', '.join(rows.schema.names)}")
    return cells_of(name, rows.column(name), kind, wanted)


def _read(rows: Rows, ending: str, target: Target, folder: Path) -> tuple[int, str]:
    return read_files(target, partial(_listed, target, ending), folder, rows)


def _listed(target: Target, ending: str) -> Mapping[str, File]:
    if not path_of(target).is_dir():
        raise StackError(f"folder {path_of(target)} does not exist: the job has not created it")
    return files(target, ending)


def _reader(rows: Rows, ending: str, target: Target) -> Reader:
    return FolderReader(target, partial(files, target, ending), rows)


def _output(
    name: str, ending: str, rows: Rows, read_all: Callable[[Target, Path], None]
) -> type[Sink]:
    return output(
        name,
        Place(
            store="files",
            named_by=NAMED_BY,
            example="FOLDER",
            options={
                NAMED_BY: Field(Located(whole), "the folder; left out: one of the run's own", None),
                "empty": EMPTY,
            },
            location=lambda target: str(path_of(target)),
            prepare=partial(prepare, ending),
            reader=partial(_reader, rows, ending),
            read=partial(_read, rows, ending),
            drop=drop,
            check=check,
            read_all=read_all,
        ),
    )


Parquet = _output("parquet", ".parquet", of_parquet, _read_all_parquet)
Json = _output("json", ".json", of_json, _read_all_json)
