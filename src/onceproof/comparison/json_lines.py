"""An exact reader of JSON lines: members keep their JSON type, numbers their digits.

DuckDB reads a member of several types as text, so that "1" equals 1, and long numbers as doubles.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from onceproof.comparison.folders import folder_columns, refuse_shadowed, unreadable
from onceproof.comparison.kinds import NOTHING, WIDEST_DECIMAL, Kind
from onceproof.comparison.places import Files, packing

_INT64, _UINT64 = Kind("integer", 64), Kind("integer", 65)
_WIDE = Kind("decimal", WIDEST_DECIMAL)
_INTEGERS = (_INT64, _UINT64, _WIDE)
_FLOATING, _BOOLEAN, _TEXT = Kind("floating", 64), Kind("boolean"), Kind("text")
_LIMIT = 10**WIDEST_DECIMAL
# Not kinds of a column: values that are refused when they are compared.
AS_WRITTEN = Kind("values of several types")
_LONG = Kind("integers of more than 38 digits")
_BARE = Kind("struct")


class Number(str):
    """A number with a point or an exponent, with its digits."""

    __slots__ = ()


@dataclass
class JsonLines:
    """A side of JSON lines, and the common kind of each member's values."""

    side: str
    files: Files
    kinds: dict[str, Kind] = field(default_factory=dict)
    rows: int = 0

    @classmethod
    def look(cls, side: str, files: Files) -> JsonLines:
        """Read all lines, or raise `RequestError` for the first that is not a JSON object."""
        found = cls(side, files)
        for row in found.objects():
            found.rows += 1
            for name, value in row.items():
                before = found.kinds.setdefault(name, NOTHING)
                kind = _kind_of(value)
                if kind is not before:
                    found.kinds[name] = merge(before, kind)
        folders = folder_columns(side, files)
        refuse_shadowed(side, files, list(found.kinds), folders)
        found.kinds |= {one.name: one.kind for one in folders}
        return found

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """Yield every row, with the columns of its file's folders."""
        folders = folder_columns(self.side, self.files)
        for number in range(len(self.files.paths)):
            named = {one.name: _folder_value(one.values[number], one.kind) for one in folders}
            for row in self.objects(number):
                yield {**row, **named}

    def objects(self, *numbers: int) -> Iterator[dict[str, Any]]:
        """Yield the objects of these files, or of all files."""
        for path in (self.files.paths[i] for i in numbers or range(len(self.files.paths))):
            read = 0
            try:
                with _opened(path) as text:
                    for line in text:
                        read += 1
                        if line.strip():
                            yield _parsed(line)
            except (ValueError, TypeError, RecursionError, OSError, EOFError, zlib.error) as error:
                why = f"{path}, line {read}, is not JSON lines: {error}"
                raise unreadable(self.side, self.files, why) from None


def merge(one: Kind, other: Kind) -> Kind:
    """Return the kind that covers both kinds; members of objects may be missing."""
    if one == other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    if one in _INTEGERS and other in _INTEGERS:
        return _WIDE
    if {one, other} <= {*_INTEGERS, _FLOATING}:
        return _FLOATING
    if one.name == other.name == "list":
        return Kind("list", parts=(("element", merge(one.parts[0][1], other.parts[0][1])),))
    if one.name == other.name == "struct":
        parts = dict(one.parts)
        for name, kind in other.parts:
            parts[name] = merge(parts.get(name, NOTHING), kind)
        return Kind("struct", parts=tuple(parts.items()))
    return _LONG if _LONG in (one, other) and {one, other} <= {*_INTEGERS, _LONG} else AS_WRITTEN


def refusal(kind: Kind) -> str | None:
    """Return why values of a kind are not compared, or None if they are."""
    if kind in (AS_WRITTEN, _LONG):
        return f"JSON {kind.name}"
    if kind == _BARE:
        return "JSON objects without a member"
    return next((why for _, part in kind.parts if (why := refusal(part))), None)


def _kind_of(value: Any) -> Kind:
    native = type(value)
    if native in _FLAT:
        return _FLAT[native]
    if native is int:
        if -(2**63) <= value < 2**63:
            return _INT64
        return _UINT64 if 0 <= value < 2**64 else _WIDE if abs(value) < _LIMIT else _LONG
    if native is dict:
        parts = ((name, _kind_of(held)) for name, held in value.items())
        return Kind("struct", parts=tuple(parts))
    element = NOTHING
    for item in value:
        element = merge(element, _kind_of(item))
    return Kind("list", parts=(("element", element),))


_FLAT = {str: _TEXT, bool: _BOOLEAN, Number: _FLOATING, type(None): NOTHING}


def _folder_value(value: str | None, kind: Kind) -> Any:
    return int(value) if value is not None and kind.name == "integer" else value


def _opened(path: str) -> Any:
    import pyarrow as pa

    packed = packing(path)
    if packed == "zstd":
        return io.TextIOWrapper(
            io.BufferedReader(pa.input_stream(path, compression="zstd")),
            encoding="utf-8",
            newline="\n",
        )
    opened: Any = gzip.open if packed == "gzip" else open
    return opened(path, "rt", encoding="utf-8", newline="\n")


def _parsed(line: str) -> dict[str, Any]:
    found = _DECODER.decode(line)
    if type(found) is not dict:
        raise ValueError(f"{line.strip()[:50]} is not an object")
    return found


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"member {next(n for n in names if names.count(n) > 1)} is a duplicate")
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=Number, parse_constant=_no_number
)
