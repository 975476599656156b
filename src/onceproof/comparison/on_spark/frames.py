"""Sides as DataFrames: the files that Spark reads, and the columns in their folder names.

By default Spark skips files in subfolders that name no column, replaces a file's value by its
folder's, and guesses the types of such values by its own rules.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from onceproof.comparison.columns import Column, Plan
from onceproof.comparison.folders import FolderColumn, folder_columns, refuse_shadowed
from onceproof.comparison.kinds import NOTHING
from onceproof.comparison.on_duckdb.parquet import INT96, refuse_nanoseconds_in, refuse_others
from onceproof.comparison.on_spark.kinds import written
from onceproof.comparison.places import Files, find_place
from onceproof.database import open_database
from onceproof.errors import RequestError

_GUESSES = "spark.sql.sources.partitionColumnTypeInference.enabled"


def frame_of(session: Any, side: str, given: Any) -> Any:
    """Return a side as a DataFrame, or raise `RequestError` if it cannot be read exactly."""
    if not isinstance(given, str | os.PathLike):
        return given
    text = os.fspath(given)
    if "://" in text and not text.startswith("postgres"):
        return _elsewhere(session, side, text)
    place = find_place(side, text)
    if not isinstance(place, Files) or place.format != "parquet":
        raise RequestError(
            f"the {side} side {place.name} is not parquet, but the spark engine reads only parquet "
            "and DataFrames; use the duckdb engine"
        )
    if place.has_spark_log:
        reader, paths = session.read, [text]  # Spark looks for the log before it expands patterns
    else:
        reader = session.read.option("basePath", place.root)
        paths = [_escaped(path) for path in place.paths]
    guesses = session.conf.get(_GUESSES)
    session.conf.set(_GUESSES, "false")
    try:
        frame = reader.parquet(*paths)
    finally:
        session.conf.set(_GUESSES, guesses)
    files = _logged(text, frame) if place.has_spark_log else place
    folders = folder_columns(side, files) if files.paths else []
    inside = refuse_others_of(side, text, frame)
    refuse_shadowed(side, files, [column.name for column in inside], folders)
    return _typed(side, frame, folders, text)


def refuse_others_of(side: str, name: str, frame: Any) -> list[Column]:
    """Raise `RequestError` for a file of this machine that Spark does not read exactly.

    Spark assumes the columns of one file for all. Return the columns in the files.
    """
    files = _files(name, frame)
    if not files.paths:
        return []
    with open_database() as connection:
        return refuse_others(connection, side, files)


def refuse_cut(side: str, given: Any, frame: Any, plan: Plan) -> None:
    """Raise `RequestError` for a compared INT96 of this machine whose nanoseconds Spark drops."""
    if not isinstance(given, str | os.PathLike):
        return
    compared = {pair.name for pair in (*plan.key, *plan.exact, *plan.near)}
    inside = refuse_others_of(side, os.fspath(given), frame)
    names = [one.name for one in inside if one.native.startswith(INT96) and one.name in compared]
    refuse_nanoseconds_in(side, _files(os.fspath(given), frame), names)


def _elsewhere(session: Any, side: str, text: str) -> Any:
    """Read files of another machine, with the columns of all files."""
    reader = session.read.option("mergeSchema", "true")
    frame = reader.parquet(text)
    whole = reader.option("recursiveFileLookup", "true").parquet(text)
    if left_out := sorted(set(whole.inputFiles()) - set(frame.inputFiles())):
        raise RequestError(
            f"the {side} side {text} cannot be read: {left_out[0]} is in a folder that names no "
            "column, and Spark skips it; move it to the others"
        )
    parts = {part for one in frame.inputFiles() for part in one.split("/")[:-1] if "=" in part}
    named = {part.partition("=")[0].lower() for part in parts - set(text.split("/"))}
    if shadowed := sorted(named & {name.lower() for name in whole.columns}):
        raise RequestError(
            f"the {side} side {text} cannot be read: column {shadowed[0]} is in the files and in "
            "the names of their folders; rename one"
        )
    refuse_others_of(side, text, frame)
    return frame


def _logged(text: str, frame: Any) -> Files:
    """Return the files in Spark's log; folder names count below the named folder."""
    files, root = _files(text, frame), os.path.abspath(text)
    is_below = all(Path(path).is_relative_to(root) for path in files.paths)
    return replace(files, root=root) if is_below else files


def _typed(side: str, frame: Any, folders: list[FolderColumn], name: str) -> Any:
    """Return the frame with the columns in folder names, in the kinds that DuckDB uses."""
    from pyspark.sql import functions as F

    for column in folders:
        if column.name not in frame.columns:
            raise RequestError(
                f"the {side} side {name} cannot be read: Spark takes no column {column.name} from "
                "its folder names; write name=value folders directly below each other"
            )
        value = F.col(_quoted(column.name)).cast(written(column.kind))
        frame = frame.withColumn(column.name, F.lit(None) if column.kind == NOTHING else value)
    return frame


def _files(name: str, frame: Any) -> Files:
    """Return the files that a frame reads if all are on this machine, else no files."""
    read = [urlsplit(one) for one in frame.inputFiles()]
    is_local = all(one.scheme in ("", "file") for one in read)
    paths = tuple(sorted(unquote(one.path) for one in read)) if is_local else ()
    return Files(name, "parquet", paths, os.path.commonpath(paths) if paths else "")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _escaped(path: str) -> str:
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)
