"""Awkward records: a share of the events, each with one property that breaks careless jobs.

Which events are awkward, and in which way, depends on the seed and their ids alone, so it is the
same for any number of producers. The ways take turns, so that even a short run has them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.runs.ledger import TOMBSTONE, UNPARSABLE
from onceproof.schema.kinds import Field, number

OPTION = Field(
    number(0, 1), "share of the events that are awkward on purpose, such as 0.02; default: 0", None
)
NULL_KEY, NULL, SAME_TIME, NUMBER = "null_key", "null", "same_time", "number"
EMPTY_TEXT, UNICODE, HUGE_TEXT = "empty_text", "unicode", "huge_text"
NAMES = (
    *(NULL_KEY, EMPTY_TEXT, UNICODE, NUMBER, SAME_TIME, NULL, HUGE_TEXT),
    *(TOMBSTONE, UNPARSABLE),
)
HUGE = "huge " + "x" * 99_995  # 100 kB, far below Kafka's limit of a megabyte
# Without NUL, which PostgreSQL refuses, and without lone surrogates, which UTF-8 cannot encode.
TEXTS = (
    "e\u0301",  # decomposed: another text than the next, with the same look
    "\u00e9",
    "Z\u0335\u0351\u0328" * 8,
    "\U0001f469\u200d\U0001f467 \U0001d518",  # beyond 16 bits, and joined
    "\u05d0\u0627\u202eabc",  # from right to left
    "\ufeffmark of the byte order",
    "two\u2028lines\u0085or three",
    " blanks\u00a0\u3000 ",
    "\u0130\u0131\u00df\ufb01",  # other lengths in other cases
    "\uffff\U0010ffff",
    "\x01\t\r\n\x1b[31m\x7f",
    "\"'\\,;{}$%",
    "null",
)
NUL = "a\x00b"
# Beyond 32 bits, and beyond what a double holds exactly. Sums of many of them fit into 64 bits.
NUMBERS = (0, -1, 2**31, -(2**31) - 1, 2**53 + 1, -(2**53) - 1)
LONGS = (*NUMBERS, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
DECIMALS = (0.0, -0.01, 0.1 + 0.2, 5e-324, 1e23, 1.7976931348623157e308, -1.7976931348623157e308)
NOT_UTF_8 = b"\xff\xfe\x00"
# Huge texts are rare, as they would make the input several times as large.
_TURNS_A_HUGE_ONE = 16
_BLOCK = 1000


@dataclass(frozen=True)
class Awkward:
    """An awkward event by its id; `draw` is a number from the seed that selects its value."""

    id: int
    name: str
    draw: int

    def one_of(self, values: Sequence[Any]) -> Any:
        """Return the drawn one of some values."""
        return values[self.draw % len(values)]


def awkward_events(
    share: float | None, seed: int, first: int, end: int, of: int, names: Sequence[str]
) -> list[Awkward]:
    """Return the awkward ones of the events from `first` to `end` (exclusive), of `of` in all.

    They are in the order of their ids; their share of all events is exact, but for rounding.
    """
    import numpy

    if not share:
        return []
    turns = _turns(names)
    found = []
    for begin in range(first - first % _BLOCK, end, _BLOCK):
        size = min(_BLOCK, of - begin)
        before = round(share * begin)
        wanted = round(share * (begin + size)) - before
        rng = numpy.random.default_rng([abs(seed), seed < 0, begin, len("awkward")])
        ids = (begin + rng.permutation(size)[:wanted]).tolist()
        draws = rng.integers(0, 1 << 62, wanted).tolist()
        for nth, (one, draw) in enumerate(zip(ids, draws, strict=True), before):
            if first <= one < end:
                found.append(Awkward(one, turns[nth % len(turns)], draw))
    return sorted(found, key=lambda one: one.id)


def neighbour(place: int, count: int) -> int:
    """Return the place of the event before, whose time an event has too; of the first the next."""
    return place - 1 if place else min(1, count - 1)


def _turns(names: Sequence[str]) -> tuple[str, ...]:
    often = tuple(name for name in names if name != HUGE_TEXT)
    if HUGE_TEXT not in names:
        return often
    return (*often, HUGE_TEXT, *often * (_TURNS_A_HUGE_ONE - 1))


def unparsable(value: str, draw: int) -> str:
    """Return a text in place of an event's JSON that no parser takes for an event."""
    return (value[: len(value) // 2], "", "null", "[]", f"not JSON: {value[:9]}")[draw % 5]
