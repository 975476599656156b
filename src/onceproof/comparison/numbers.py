"""Whether a number that is written out is the number that a float holds."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# So many digits tell every number of so many bits from all others.
_DIGITS = {64: 17, 32: 9}


def is_held(text: str, bits: int) -> bool:
    """Return whether a float of so many bits holds this number, to the last digit written.

    It does if it is the number exactly, as 0.5 is, or if the number has no more digits than tell
    floats apart, and the float written with as many is the number again, as 0.1 is. A float of 32
    bits also holds what tells the double of its value apart, as 0.10000000149011612. No float
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
