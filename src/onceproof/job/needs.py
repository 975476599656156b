"""The environment variables and libraries that a run needs, by its scenario or plan.

A plan keeps the names of variables. Their values are looked up when the job is started, and never
written down. A library is imported only when a run starts, never while a file is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from onceproof.kafka import encodings
from onceproof.runs.plan import OutputPart, Parts
from onceproof.setup.libraries import (
    CONFLUENT,
    FASTAVRO,
    GREAT_EXPECTATIONS,
    KAFKA_PYTHON,
    PSYCOPG,
    PYSPARK,
    Library,
)
from onceproof.variables import names_in, unset_error
from onceproof.workloads import CONFLUENT as CONFLUENT_CLIENT

# Set for the job by Onceproof, where the store of its stack has a password file.
OF_THE_STORE = ("PGPASSFILE", "PGPASSWORD")
_EVERY_RUN = (PYSPARK, GREAT_EXPECTATIONS, KAFKA_PYTHON)
_IN_BULK = ("wal", "two_phase")  # the families whose topics are written by confluent-kafka


def variables_of(asked: Parts) -> list[str]:
    """Return the names of all variables that a run needs, each once."""
    return list(dict.fromkeys(name for text in _texts(asked) for name in names_in(text)))


def refuse_unset(asked: Parts, *, has_store: bool = True) -> None:
    """Raise `RequestError` if a variable that a run needs is not set; call it before it starts."""
    given = OF_THE_STORE if has_store else ()
    missing = [
        name for name in variables_of(asked) if not os.environ.get(name) and name not in given
    ]
    if missing:
        raise unset_error(missing, "the scenario")


def _texts(asked: Parts) -> Iterator[str]:
    """Return the texts of jobs, outputs and sources, in which variables may be named."""
    for job in asked.jobs:
        yield from job.command
    given = (
        *(one for job in asked.jobs for one in (job.options, job.runtime.get("env", {}))),
        *(output.options for query in asked.queries for output in query.outputs),
        *(query.source_options for query in asked.queries),
    )
    for options in given:
        yield from (value for value in options.values() if isinstance(value, str))


def libraries_of(asked: Parts) -> Sequence[Library]:
    """Return the libraries that a run needs, each once."""
    found = [*_EVERY_RUN]
    if any(one.options["client"] == CONFLUENT_CLIENT for one in asked.inputs):
        found.append(CONFLUENT)
    inputs = [one.options for one in asked.inputs]
    outputs = [one.options for query in asked.queries for one in query.outputs]
    if any(encodings.NAME in one for one in (*inputs, *outputs)):
        found.append(FASTAVRO)
    for query in asked.queries:
        found += [library for output in query.outputs for library in _libraries_of_output(output)]
    return list(dict.fromkeys(found))


def _libraries_of_output(output: OutputPart) -> Sequence[Library]:
    if output.store == "postgresql":
        return [PSYCOPG]
    return [CONFLUENT] if output.store == "kafka" and output.family in _IN_BULK else []
