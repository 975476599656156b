"""The kinds of columns, shared by both engines: values of one kind are compared by value.

An INT32 and an INT64 are one kind, so are decimals of any scale and timestamps of any unit. Text
that looks like a number is another kind, and so is a timestamp without a zone beside one with it.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from decimal import Decimal

WIDEST_DECIMAL = 38
NUMBERS = ("integer", "decimal", "floating")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# The digits that distinguish all numbers of this many bits.
_DIGITS = {64: 17, 32: 9}


@dataclass(frozen=True)
class Kind:
    """A kind of values, and its precision.

    `digits` are the bits of an integer (an unsigned one needs one more) or a float, the digits of a
    decimal, the decimals of a second in a time; `scale` is a decimal's. `parts` are a struct's
    fields, a list's `element`, a map's `key` and `value`.
    """

    name: str
    digits: int = 0
    scale: int = 0
    parts: tuple[tuple[str, Kind], ...] = ()

    @property
    def has_map(self) -> bool:
        """Whether the kind contains a map, whose entries have no order."""
        return self.name == "map" or any(kind.has_map for _, kind in self.parts)

    @property
    def has_nothing(self) -> bool:
        """Whether the kind or a part of it has only NULLs, which are of every kind."""
        return self.name == "nothing" or any(kind.has_nothing for _, kind in self.parts)

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.digits},{self.scale})"
        inner = ", ".join(f"{name} {kind}" for name, kind in self.parts)
        return f"{self.name}({inner})" if inner else self.name


# The kind of a column, or of a list's element, that holds NULLs only: it is of every kind.
NOTHING = Kind("nothing")


def common(one: Kind, other: Kind) -> Kind | None:
    """Return the kind that holds every value of both exactly, or None if no kind does.

    A struct's fields are matched by name and come in the order of `one`.
    """
    if NOTHING in (one, other):
        return Kind("text") if one == other else one if other == NOTHING else other
    if one == other:
        return one
    if one.name != other.name:
        return None
    if one.name == "decimal":
        return _common_decimal(one, other)
    if one.parts:
        return _common_parts(one, other)
    return _common_digits(one, other)


def _common_digits(one: Kind, other: Kind) -> Kind:
    digits = max(one.digits, other.digits)
    if one.name == "integer":
        return Kind("integer", 64) if digits <= 64 else Kind("decimal", 20, 0)
    return Kind(one.name, digits)


def _common_decimal(one: Kind, other: Kind) -> Kind | None:
    scale = max(one.scale, other.scale)
    digits = scale + max(one.digits - one.scale, other.digits - other.scale)
    return Kind("decimal", digits, scale) if digits <= WIDEST_DECIMAL else None


def _common_parts(one: Kind, other: Kind) -> Kind | None:
    theirs = dict(other.parts)
    if theirs.keys() != dict(one.parts).keys():
        return None
    parts = []
    for name, kind in one.parts:
        part = common(kind, theirs[name])
        if part is None:
            return None
        parts.append((name, part))
    return Kind(one.name, parts=tuple(parts))


def is_held(text: str, bits: int) -> bool:
    """Whether a float of this many bits holds a number to its last digit.

    It does if it equals the number exactly, as for 0.5, or if the number has no more digits than
    distinguish floats, and the float printed with as many digits is the number, as for 0.1. A float
    of 32 bits also holds the digits of the double of its value, as 0.10000000149011612. No float
    holds 9007199254740993, 0.10000000000000000001, 1e400 or 1e-400.
    """
    if not _NUMBER.fullmatch(text):
        return False
    held, number = _nearest(text, bits), Decimal(text)
    if not math.isfinite(held):
        return False
    if Decimal(held) == number or (bits == 32 and held == float(text) and is_held(text, 64)):
        return True
    digits = len("".join(map(str, number.as_tuple().digits)).strip("0"))
    return digits <= _DIGITS[bits] and Decimal(f"{held:.{digits - 1}e}") == number


def _nearest(text: str, bits: int) -> float:
    held = float(text)
    if bits == 64 or not math.isfinite(held):
        return held
    try:
        return float(struct.unpack("f", struct.pack("f", held))[0])
    except OverflowError:
        return math.inf
