"""Strict reading of JSON documents: anything unexpected is refused, never guessed."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import types
import typing
from collections.abc import Hashable, Iterable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from onceproof.errors import EvidenceError

T = TypeVar("T")


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or raise `EvidenceError` with its name."""
    try:
        return parse_object(path.read_text(encoding="utf-8"), path.name)
    except FileNotFoundError:
        raise EvidenceError(f"{path.name} is missing in the run's directory") from None
    except (OSError, UnicodeDecodeError) as error:
        raise EvidenceError(f"{path.name} cannot be read: {error}") from None


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file atomically: a reader finds the whole text, or the previous file."""
    part = path.with_suffix(".part")
    part.touch(mode)
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def parse_object(text: str, name: str) -> dict[str, Any]:
    """Return the JSON object in a text; NaN and duplicate keys are refused."""
    try:
        found = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once
        )
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{name} is not JSON, or was cut short: {error}") from None
    if not isinstance(found, dict):
        raise EvidenceError(f"{name} is a JSON {type(found).__name__}, not an object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


def _finite(text: str) -> float:
    return found if math.isfinite(found := float(text)) else _refuse(text)


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"duplicate key {name!r} in an object")
        found[name] = value
    return found


def field(document: Mapping[str, Any], name: str, kind: type[T], where: str) -> T:
    """Return a required field of exactly this type; a bool is not an int."""
    if not isinstance(document, Mapping):
        raise EvidenceError(f"{where} is {document!r}, but must be a JSON object")
    if name not in document:
        raise EvidenceError(f"{where} has no {str(name)!r}")
    return _typed(kind, document[name], f"{where}: {name}")


def _typed(kind: type[T], value: Any, where: str) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise EvidenceError(f"{where} is {value!r}, but must be of type {kind.__name__}")
    if isinstance(value, int) and value.bit_length() > 63:
        raise EvidenceError(f"{where} is too large")
    return value


def count(document: Mapping[str, Any], name: str, where: str) -> int:
    """Return a required field that is a whole number of at least 0."""
    found = field(document, name, int, where)
    if found < 0:
        raise EvidenceError(f"{where}: {name} is {found}, but must not be below 0")
    return found


def decode(kind: type[T], document: Any, where: str) -> T:
    """Return a document as a dataclass; fields of a wrong type and unknown fields are refused.

    Fields may be of the types of JSON, enumerations by their value, dataclasses, `X | None`,
    tuples of one type and mappings of names to one type. Fields without a default are required.
    """
    if not isinstance(document, Mapping):
        raise EvidenceError(f"{where} is {document!r}, but must be a JSON object")
    fields = _fields_of(typing.cast(Hashable, kind))
    if strange := sorted(document.keys() - fields.keys()):
        raise EvidenceError(f"{where} has an unknown field {strange[0]!r}")
    found = {}
    for name, (type_, needed) in fields.items():
        if name in document:
            found[name] = _value(type_, document[name], f"{where}: {name}")
        elif needed:
            raise EvidenceError(f"{where} has no {name!r}")
    return kind(**found)


def encoded(value: Any) -> Any:
    """Return a value as JSON: lists for tuples, and the values of enumerations."""
    if isinstance(value, Mapping):
        return {str(name): encoded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(one) for one in value]
    return value.value if isinstance(value, Enum) else value


@cache
def _fields_of(kind: Hashable) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field, and whether it is required."""
    types_ = typing.get_type_hints(typing.cast(type[Any], kind))
    missing = dataclasses.MISSING
    return {
        one.name: (types_[one.name], one.default is missing and one.default_factory is missing)
        for one in dataclasses.fields(typing.cast(type[Any], kind))
    }


def _value(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if value is None else _value(of[0], value, where)
    if origin is tuple:
        return tuple(_value(of[0], one, where) for one in _typed(list, value, where))
    if origin is Mapping:
        return {name: _value(of[1], one, where) for name, one in _typed(dict, value, where).items()}
    if dataclasses.is_dataclass(kind):
        return decode(typing.cast(type[Any], kind), value, where)
    if issubclass(kind, Enum):
        return _one_of(kind, value, where)
    return _typed(kind, value, where)


def _one_of(kind: type[Enum], value: Any, where: str) -> Enum:
    try:
        return kind(value)
    except ValueError:
        words = ", ".join(str(one.value) for one in kind)
        raise EvidenceError(f"{where} is {value!r}, but must be one of: {words}") from None
