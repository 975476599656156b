"""Lists and mappings: how each is read, and its JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from onceproof.schema.values import BAD, Item, Mark, Page, none_of

REQUIRED = Mark()


class Kind(Protocol):
    """One kind of value."""

    def read(self, item: Item) -> Any:
        """Return the value; `BAD`, with a complaint noted, where it is none of this kind."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of such values."""


@dataclass(frozen=True)
class Field:
    """One field of a mapping; a default of None leaves it out."""

    kind: Kind
    about: str
    default: Any = REQUIRED


@dataclass(frozen=True)
class Many:
    """A list of values of one kind; `empty` refuses one without any. `alone`: one value will do."""

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
    """A mapping with fields; keys beyond them only where `others` says of which kind they are."""

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
    """A scalar for short, or a mapping."""

    short: Kind
    long: Kind

    def read(self, item: Item) -> Any:
        """Return what the kind that fits reads."""
        return (self.long if item.is_mapping else self.short).read(item)

    def schema(self) -> dict[str, Any]:
        """Return both."""
        return {"anyOf": [self.short.schema(), self.long.schema()]}


def read_fields(owner: Item, found: Mapping[str, Item], shape: Shape) -> dict[str, Any]:
    """Return the values of a shape's fields, each `BAD` that was refused; complain of others."""
    values: dict[str, Any] = {}
    for name, item in found.items():
        kind = shape.fields[name].kind if name in shape.fields else shape.others
        if kind:
            values[name] = kind.read(item)
        else:
            item.refuse(f"no such key: {none_of(name, shape.fields)}")
            values[name] = BAD
    for name, one in shape.fields.items():
        if name not in found and one.default is REQUIRED:
            owner.refuse(f"{name} is missing: write {name}: {_example(one)}")
            values[name] = BAD
        elif name not in found and one.default is not None:
            values[name] = one.default
    return values


def _example(one: Field) -> str:
    return f"... ({one.about})"


def read_given(where: str, kind: Kind, given: Any) -> Any:
    """Return what a kind reads of a value in memory, or raise `RequestError` with what is wrong."""
    page = Page(where)
    found = kind.read(Item(page, given))
    page.check()
    return found


def property_of(one: Field) -> dict[str, Any]:
    """Return the JSON schema of a field."""
    told = one.kind.schema() | {"description": one.about}
    plain = isinstance(one.default, str | int | float | tuple)
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    return told | ({"default": default} if plain else {})
