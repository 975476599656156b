"""Kinds of scalars: numbers in a range, words of a few, texts of a pattern."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.schema.values import BAD, Item, none_of


@dataclass(frozen=True)
class Scalar:
    """A scalar that a function accepts; `write` says in words what it accepts.

    One that is `public` is shown also where a page conceals its values.
    """

    write: str
    accepts: Callable[[Any], bool]
    json: Mapping[str, Any]
    public: bool = False

    def read(self, item: Item) -> Any:
        """Return the scalar as YAML reads it."""
        if self.accepts(value := item.plain()):
            return value
        shown = value if self.public else item.shown
        item.refuse(f"{shown!r} does not fit: write {self.write}")
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return the schema given."""
        return dict(self.json)


@dataclass(frozen=True)
class Word:
    """One word of a few; the nearest is suggested for one that is not among them."""

    words: tuple[str, ...]

    def read(self, item: Item) -> Any:
        """Return the word."""
        if (value := item.plain()) in self.words and isinstance(value, str):
            return value
        item.refuse(none_of(value, self.words))
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return the words."""
        return {"enum": list(self.words)}


def whole(least: int = 0, most: int = 2**63 - 1) -> Scalar:
    """Whole numbers in a range."""
    beyond = f" and at most {most}" if most < 2**63 - 1 else ""

    def accepts(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    json = {"type": "integer", "minimum": least, "maximum": most}
    return Scalar(f"a whole number of at least {least}{beyond}", accepts, json)


def number(least: float, most: float = math.inf, what: str = "a number") -> Scalar:
    """Numbers in a range, both ends included; never NaN or infinity."""
    beyond = f" and at most {most:.10g}" if most < math.inf else ""

    def accepts(value: Any) -> bool:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return plain and math.isfinite(value) and least <= value <= most

    json = {"type": "number", "minimum": least} | ({"maximum": most} if beyond else {})
    return Scalar(f"{what} of at least {least:g}{beyond}", accepts, json)


def text(pattern: str, write: str) -> Scalar:
    """Texts that match a pattern as a whole."""

    def accepts(value: Any) -> bool:
        return isinstance(value, str) and bool(re.fullmatch(pattern, value))

    return Scalar(write, accepts, {"type": "string", "pattern": f"^({pattern})$"})


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | bool) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


TEXT = Scalar("a text, in quotes where it looks like a number", _is_text, {"type": "string"})
SECONDS = number(0, what="a number of seconds")
ANY = Scalar(
    "a text, a number, true or false", _is_plain, {"type": ["string", "number", "boolean"]}
)
ELEMENT = text(
    r"([\w.]+|[^:\0]+\.py):\w+",
    "module:attribute, with the module on PYTHONPATH, or FILE.py:attribute",
)


@dataclass(frozen=True)
class Tree:
    """A scalar, or a mapping of them, of any depth."""

    def read(self, item: Item) -> Any:
        """Return it as YAML reads it."""
        if not item.is_mapping:
            return ANY.read(item)
        found = item.fields()
        values = {name: self.read(one) for name, one in (found or {}).items()}
        return BAD if found is None or BAD in values.values() else values

    def schema(self) -> dict[str, Any]:
        """Return anything."""
        return {"type": ["string", "number", "boolean", "object"]}
