"""The libraries of each extra, their purposes, and a check for missing ones.

A core install has none of them: it reads, judges and compares. Nothing here imports one.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onceproof.errors import RequestError


@dataclass(frozen=True)
class Library:
    """A distribution, the module it is imported as, the extra that brings it, and its purpose."""

    name: str
    module: str
    extra: str
    purpose: str

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except ImportError:  # an import hook blocks it
            return False

    @property
    def version(self) -> str:
        """Its version from its metadata."""
        return importlib.metadata.version(self.name)


PYSPARK = Library("pyspark", "pyspark", "spark", "runs jobs and recomputes what they must write")
GREAT_EXPECTATIONS = Library(
    "great-expectations", "great_expectations", "spark", "validates every run's output"
)
KAFKA_PYTHON = Library("kafka-python", "kafka", "kafka", "makes and reads topics")
CONFLUENT = Library("confluent-kafka", "confluent_kafka", "kafka", "sends records in bulk")
FASTAVRO = Library("fastavro", "fastavro", "avro", "encodes and decodes values in Avro")
PSYCOPG = Library("psycopg", "psycopg", "postgres", "reads and writes tables of PostgreSQL")
AIRFLOW = Library("apache-airflow", "airflow", "airflow", "runs the DAGs and shows the nights")
LIBRARIES = (PYSPARK, GREAT_EXPECTATIONS, KAFKA_PYTHON, CONFLUENT, FASTAVRO, PSYCOPG, AIRFLOW)


def find_library(module: str | None) -> Library | None:
    """Return the library that a module or submodule belongs to; None if it is in no extra."""
    top = (module or "").partition(".")[0]
    return next((one for one in LIBRARIES if one.module == top), None)


def missing(needed: Iterable[Library]) -> list[Library]:
    """Return the libraries that are not installed."""
    return [one for one in needed if not one.is_installed]


def refuse_missing(needed: Iterable[Library]) -> None:
    """Raise `RequestError` if a library is not installed; naming each and its extra."""
    if absent := missing(needed):
        raise RequestError(missing_message(absent))


def missing_message(absent: Sequence[Library]) -> str:
    """Return the error message for libraries that are not installed."""
    return f"{describe_missing(absent)}; run {install_command(absent)}"


def describe_missing(absent: Iterable[Library]) -> str:
    """Return the names and purposes of libraries that are not installed."""
    return "not installed: " + ", ".join(f"{one.name} ({one.purpose})" for one in absent)


def install_command(absent: Iterable[Library]) -> str:
    """Return the command that installs libraries."""
    return f"pip install 'onceproof[{','.join(dict.fromkeys(one.extra for one in absent))}]'"
