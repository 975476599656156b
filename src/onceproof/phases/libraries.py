"""The libraries that a run needs, by what its scenario or plan says."""

from __future__ import annotations

from collections.abc import Sequence

from onceproof.runs.plan import OutputPart, Parts
from onceproof.setup.libraries import (
    CONFLUENT,
    GREAT_EXPECTATIONS,
    KAFKA_PYTHON,
    PSYCOPG,
    PYSPARK,
    Library,
)
from onceproof.workloads import CONFLUENT as CONFLUENT_CLIENT

_EVERY_RUN = (PYSPARK, GREAT_EXPECTATIONS, KAFKA_PYTHON)
_IN_BULK = ("wal", "two_phase")  # the families whose topics are written by confluent-kafka


def libraries_of(asked: Parts) -> Sequence[Library]:
    """Return what a run needs, each once; a library is never looked for while a file is read."""
    found = [*_EVERY_RUN]
    if any(one.options["client"] == CONFLUENT_CLIENT for one in asked.inputs):
        found.append(CONFLUENT)
    for query in asked.queries:
        found += [library for output in query.outputs for library in _of_output(output)]
    return list(dict.fromkeys(found))


def _of_output(output: OutputPart) -> Sequence[Library]:
    if output.store == "postgresql":
        return [PSYCOPG]
    return [CONFLUENT] if output.store == "kafka" and output.family in _IN_BULK else []
