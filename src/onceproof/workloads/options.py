"""Options of workloads: each with its default, and with the words that refuse a bad value."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from onceproof.errors import RequestError

CONFLUENT = "confluent"
KAFKA_PYTHON = "kafka-python"


class Option(Protocol):
    """One option of a workload."""

    @property
    def default(self) -> Any:
        """What holds where nothing is given."""

    def wrong(self, value: Any) -> str:
        """Say what a value must be and what to write instead; empty if it is good."""


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds, both included."""

    default: int
    least: int
    most: int

    def wrong(self, value: Any) -> str:
        """Say what it must be, unless it is."""
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if is_whole and self.least <= value <= self.most:
            return ""
        must = f"must be a whole number from {self.least} to {self.most}"
        return f"{must}: write for example {self.default}"


@dataclass(frozen=True)
class Number:
    """A number within bounds, both included; `example` is one to write instead."""

    default: float
    most: float
    example: float

    def wrong(self, value: Any) -> str:
        """Say what it must be, unless it is."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and math.isfinite(value) and 0 <= value <= self.most:
            return ""
        return f"must be a number from 0 to {self.most:.10g}: write for example {self.example:g}"


@dataclass(frozen=True)
class Client:
    """The Kafka client that sends: confluent-kafka where it is installed, else kafka-python."""

    @property
    def default(self) -> str:
        """The faster one of those that are installed."""
        return CONFLUENT if _is_installed() else KAFKA_PYTHON

    def wrong(self, value: Any) -> str:
        """Say what it must be, unless it is."""
        if value not in (CONFLUENT, KAFKA_PYTHON):
            return f"is no client: write {KAFKA_PYTHON} or {CONFLUENT}"
        if value == CONFLUENT and not _is_installed():
            return f"is not installed: install onceproof[kafka], or write {KAFKA_PYTHON}"
        return ""


@dataclass(frozen=True)
class Text:
    """A text; one without a default must be given, and `write` says in words what."""

    write: str
    default: str | None = None

    def wrong(self, value: Any) -> str:
        """Say what it must be, unless it is."""
        return "" if isinstance(value, str) else f"must be a text: write {self.write}"


@dataclass(frozen=True)
class Fields:
    """A mapping of names to texts, or to mappings of the same kind, that must be given."""

    write: str
    default: None = None

    def wrong(self, value: Any) -> str:
        """Say what it must be, unless it is."""
        return "" if value and isinstance(value, dict) else f"must be a mapping: write {self.write}"


def resolve(where: str, known: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option with its value, or raise `RequestError` for the first that is bad."""
    for name in given:
        if name not in known:
            raise RequestError(f"{where}: there is no option {name!r}: it has {', '.join(known)}")
    found = {name: given.get(name, option.default) for name, option in known.items()}
    for name, option in known.items():
        if wrong := option.wrong(found[name]):
            raise RequestError(f"{where}: {name} is {found[name]!r}, and {wrong}")
    return found


def _is_installed() -> bool:
    return importlib.util.find_spec("confluent_kafka") is not None
