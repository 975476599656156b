"""Kinds of values: how each is read and checked, and its JSON schema."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from onceproof.errors import invalid, missing, unknown
from onceproof.schema.values import BAD, Item, Mark, Page


@dataclass(frozen=True)
class Scalar:
    """A scalar that `accepts` returns true for; `use` describes such values for an error.

    The value of a `public` scalar appears in errors even if its page conceals values.
    """

    use: str
    accepts: Callable[[Any], bool]
    json: Mapping[str, Any]
    public: bool = False

    def read(self, item: Item) -> Any:
        """Return the scalar as YAML reads it."""
        if self.accepts(value := item.plain()):
            return value
        display = value if self.public else item.display
        item.refuse(invalid("value", display, self.use))
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return the schema given."""
        return dict(self.json)


@dataclass(frozen=True)
class Word:
    """A choice of a few words; `what` is the noun for it in an error."""

    words: tuple[str, ...]
    what: str = "value"

    def read(self, item: Item) -> Any:
        """Return the word."""
        if (value := item.plain()) in self.words and isinstance(value, str):
            return value
        item.refuse_unknown(self.what, self.words)
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


def text(pattern: str, use: str) -> Scalar:
    """Texts that match a pattern as a whole."""

    def accepts(value: Any) -> bool:
        return isinstance(value, str) and bool(re.fullmatch(pattern, value))

    return Scalar(use, accepts, {"type": "string", "pattern": f"^({pattern})$"})


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | bool) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


TEXT = Scalar("a text, in quotes where it looks like a number", _is_text, {"type": "string"})
NONEMPTY = text(r"[^\0]+", TEXT.use)
TRUTH = Scalar("true or false", _is_truth, {"type": "boolean"})
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


REQUIRED = Mark()


class Kind(Protocol):
    """A kind of value."""

    def read(self, item: Item) -> Any:
        """Return the value; `BAD`, with a complaint noted, if it is not of this kind."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of such values."""


@dataclass(frozen=True)
class Field:
    """A field of a mapping; a default of None leaves it out."""

    kind: Kind
    about: str
    default: Any = REQUIRED


@dataclass(frozen=True)
class Many:
    """A list of values of one kind; `empty` is the error of an empty list.

    `alone`: a value outside of a list is read as a list of one.
    """

    kind: Kind
    empty: str = ""
    alone: bool = False

    def read(self, item: Item) -> Any:
        """Return a tuple."""
        found = [item] if self.alone and not item.is_list else item.items()
        if found == [] and self.empty:
            item.refuse(self.empty)
            return BAD
        values = () if found is None else tuple(self.kind.read(one) for one in found)
        return BAD if found is None or BAD in values else values

    def schema(self) -> dict[str, Any]:
        """Return an array."""
        least = {"minItems": 1} if self.empty else {}
        many = {"type": "array", "items": self.kind.schema()} | least
        return {"anyOf": [self.kind.schema(), many]} if self.alone else many


@dataclass(frozen=True)
class Shape:
    """A mapping with fields; other keys are refused unless `others` is their kind."""

    fields: Mapping[str, Field]
    others: Kind | None = None

    def read(self, item: Item) -> Any:
        """Return a dict with every field that is given or has a default."""
        found = item.fields()
        values = {} if found is None else read_fields(item, found, self)
        return BAD if found is None or BAD in values.values() else values

    def schema(self) -> dict[str, Any]:
        """Return an object."""
        return {
            "type": "object",
            "required": [name for name, one in self.fields.items() if one.default is REQUIRED],
            "additionalProperties": self.others.schema() if self.others else False,
            "properties": {name: property_of(one) for name, one in self.fields.items()},
        }


@dataclass(frozen=True)
class Either:
    """A scalar as a short form, or a mapping."""

    short: Kind
    long: Kind

    def read(self, item: Item) -> Any:
        """Return the value, read by the kind that fits."""
        return (self.long if item.is_mapping else self.short).read(item)

    def schema(self) -> dict[str, Any]:
        """Return both."""
        return {"anyOf": [self.short.schema(), self.long.schema()]}


def read_fields(owner: Item, found: Mapping[str, Item], shape: Shape) -> dict[str, Any]:
    """Return the values of a shape's fields, `BAD` for refused ones; complain about other keys."""
    values: dict[str, Any] = {}
    for name, item in found.items():
        kind = shape.fields[name].kind if name in shape.fields else shape.others
        if kind:
            values[name] = kind.read(item)
        else:
            item.refuse(unknown("key", name, shape.fields))
            values[name] = BAD
    for name, one in shape.fields.items():
        if name not in found and one.default is REQUIRED:
            owner.refuse(missing(name, f"{name}: ... ({one.about})"))
            values[name] = BAD
        elif name not in found and one.default is not None:
            values[name] = one.default
    return values


def read_given(where: str, kind: Kind, given: Any) -> Any:
    """Return a value in memory, read by a kind, or raise `RequestError` with every mistake."""
    page = Page(where)
    found = kind.read(Item(page, given))
    page.check()
    return found


def property_of(one: Field) -> dict[str, Any]:
    """Return the JSON schema of a field."""
    schema = one.kind.schema() | {"description": one.about}
    plain = isinstance(one.default, str | int | float | tuple)
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    return schema | ({"default": default} if plain else {})
