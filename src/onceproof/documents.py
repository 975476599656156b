"""Reading JSON that somebody else wrote: what is not as agreed is refused, never guessed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from onceproof.errors import EvidenceError

T = TypeVar("T")


def read_object(path: Path) -> dict[str, Any]:
    """Return the one JSON object that a file holds, or raise `EvidenceError` with its name."""
    try:
        return parse_object(path.read_text(encoding="utf-8"), path.name)
    except FileNotFoundError:
        raise EvidenceError(f"{path.name} is missing from the run's directory") from None
    except (OSError, UnicodeDecodeError) as error:
        raise EvidenceError(f"{path.name} cannot be read: {error}") from None


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file so that whoever reads it finds all of it, or what stood there before."""
    part = path.with_suffix(".part")
    part.touch(mode)
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def parse_object(text: str, name: str) -> dict[str, Any]:
    """Return the JSON object in a text; NaN and a key that stands twice are refused."""
    try:
        found = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once
        )
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{name} is not JSON, or was cut short: {error}") from None
    if not isinstance(found, dict):
        raise EvidenceError(f"{name} holds {type(found).__name__}, not a JSON object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _finite(text: str) -> float:
    return found if math.isfinite(found := float(text)) else _refuse(text)


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} stands twice in one object")
        found[name] = value
    return found


def field(document: Mapping[str, Any], name: str, kind: type[T], where: str) -> T:
    """Return a field that must be there and of this very type; a bool is no int here."""
    if not isinstance(document, Mapping):
        raise EvidenceError(f"{where} is {document!r}, and must be a JSON object")
    if name not in document:
        raise EvidenceError(f"there is no {str(name)!r} in {where}")
    value = document[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise EvidenceError(f"{where}: {name} is {value!r}, and must be of type {kind.__name__}")
    if isinstance(value, int) and value.bit_length() > 63:
        raise EvidenceError(f"{where}: {name} is beyond any count")
    return value


def count(document: Mapping[str, Any], name: str, where: str) -> int:
    """Return a field that must be a whole number of at least 0."""
    found = field(document, name, int, where)
    if found < 0:
        raise EvidenceError(f"{where}: {name} is {found}, and must not be below 0")
    return found
