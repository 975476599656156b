"""Folders of parquet or JSON lines that a user's job writes to.

If the folder has the manifest of Spark's file sink, readers use it, as Spark does. Otherwise every
file counts whose name does not begin with `_` or `.`; folders `name=value` are columns.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.machine.data_files import data_files
from onceproof.naming import whole
from onceproof.schema.kinds import Field
from onceproof.setup.checks import Check
from onceproof.sinks import Reader, Sink, Target
from onceproof.sinks.exact_cells import batch_of, cells_of, exact_text, from_json, unsigned
from onceproof.sinks.files.folders import File
from onceproof.sinks.files.parquet_rows import schema
from onceproof.sinks.files.reader import FolderReader
from onceproof.sinks.files.reader import read as read_files
from onceproof.sinks.files.spark_files import MANIFEST, Manifest
from onceproof.sinks.outputs import EMPTY, MAY_BE_EMPTIED, Located, Place, is_own, output

NAMED_BY = "folder"
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
    named = dict(_named(file.path, target))
    opened: Any = gzip.open if file.path.suffix == ".gz" else open
    with opened(file.path, "rt", encoding="utf-8") as lines:
        try:
            rows = [_with(named, from_json(line)) for line in lines if line.strip()]
        except (ValueError, TypeError) as error:
            raise StackError(f"{file.path.name} is not JSON lines: {error}") from None
    yield batch_of(target, rows, file.path.name)


def _with(named: Mapping[str, Any], row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TypeError(f"{row!r} is not an object")
    if both := sorted(named.keys() & row.keys()):
        raise ValueError(f"column {both[0]} is in the file and in the names of its folders")
    return {**named, **row}


def _named(path: Path, target: Target) -> Iterator[tuple[str, Any]]:
    """Yield the columns in the names of a file's folders; raises `StackError` for a bad value."""
    folder = path_of(target)
    for part in path.relative_to(folder).parts[:-1] if path.is_relative_to(folder) else ():
        name, sign, value = part.partition("=")
        if sign and name in target.columns:
            try:
                yield name, exact_text(name, value, target.columns[name])
            except ValueError as error:
                raise StackError(f"{path.name} is in a folder {part}: {error}") from None


def _column(rows: Any, name: str, kind: str, named: Mapping[str, Any], wanted: Any) -> Any:
    import pyarrow as pa

    if name in rows.schema.names and name in named:
        raise ValueError(f"column {name} is in the file and in the names of its folders")
    if name in named:
        return pa.repeat(pa.scalar(named[name], wanted), rows.num_rows)
    if name not in rows.schema.names:
        raise KeyError(f"no column {name}; its columns are {', '.join(rows.schema.names)}")
    return cells_of(name, rows.column(name), kind, wanted)


def _read(rows: Rows, ending: str, target: Target, folder: Path) -> tuple[int, str]:
    if not path_of(target).is_dir():
        raise StackError(f"folder {path_of(target)} does not exist: the job has not created it")
    return read_files(target, partial(files, target, ending), folder, rows)


def _reader(rows: Rows, ending: str, target: Target) -> Reader:
    return FolderReader(target, partial(files, target, ending), rows)


def _output(name: str, ending: str, rows: Rows) -> type[Sink]:
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
        ),
    )


Parquet = _output("parquet", ".parquet", of_parquet)
Json = _output("json", ".json", of_json)
