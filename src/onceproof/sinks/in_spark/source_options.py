"""The options and columns of a query that writes `format("onceproof_two_phase")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.schema.kinds import TEXT, Field, Shape, Word, read_given, text
from onceproof.sinks import Target
from onceproof.sinks.protocol import checked_writer

NAME = "onceproof_two_phase"
STORES = {"table": "two_phase_table", "files": "two_phase_files"}
OPTIONS = Shape(
    {
        "store": Field(
            Word((*STORES, *STORES.values())), f"one of {', '.join([*STORES, *STORES.values()])}"
        ),
        "address": Field(TEXT, "postgresql://user@host:port/database, or a folder"),
        "name": Field(TEXT, "schema.table, or the name of a folder below the address"),
        "checkpointLocation": Field(TEXT, "the query's checkpoint, an absolute path"),
        "writer": Field(TEXT, "the name under which the query records its batches", ""),
        "attempt": Field(
            text("0*[1-9][0-9]*", "the start of the job, a whole number from 1"),
            "the start of the job",
            "1",
        ),
    }
)


def sink_of(options: Mapping[str, str], columns: Mapping[str, str]) -> tuple[str, Target]:
    """Return the sink's name and its target; raises `RequestError` for invalid options.

    Option names are case-insensitive, as in Spark; an empty option counts as missing.
    """
    names = {name.lower(): name for name in OPTIONS.fields}
    texts = {names.get(name.lower(), name): str(value).strip() for name, value in options.items()}
    given = read_given(NAME, OPTIONS, {name: value for name, value in texts.items() if value})
    target = Target(
        address=given["address"],
        name=given["name"],
        columns=columns,
        key=(),
        attempt=int(given["attempt"]),
        checkpoint=given["checkpointLocation"],
        writer=checked_writer(given["writer"]) if given["writer"] else "",
    )
    return STORES.get(given["store"], given["store"]), target


def columns_of(schema: Any) -> dict[str, str]:
    """Return the columns of a Spark schema, with Spark's names of their types."""
    return {field.name: field.dataType.simpleString() for field in schema.fields}
