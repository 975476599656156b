"""The fields of a fault in a scenario file: verb, target, moment and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onceproof.errors import invalid
from onceproof.faults.registry import all_targets, find_target, options, verbs
from onceproof.faults.triggers import TRIGGERS
from onceproof.runs.plan import DEMANDS
from onceproof.schema.kinds import Field, Kind, Shape, Word, text
from onceproof.schema.values import BAD, Item, Unplain

NAME = text(r"[a-z][a-z0-9_]{0,59}", "at most 60 lower-case letters, digits and _")


@dataclass(frozen=True)
class Registered:
    """A kind of value that is made from the registry of mechanisms at each use."""

    kind: Callable[[], Kind]

    def read(self, item: Item) -> Any:
        """Return the value."""
        return self.kind().read(item)

    def schema(self) -> dict[str, Any]:
        """Return the schema of the registered values."""
        return self.kind().schema()


@dataclass(frozen=True)
class Target:
    """The target of a fault, by its role."""

    def read(self, item: Item) -> Any:
        """Return the text."""
        if find_target(value := item.plain()):
            return value
        item.refuse_unknown("target", all_targets())
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return the words, with patterns for those with a number."""
        patterns = [name.replace("<partition>", "[0-9]+") for name in all_targets()]
        return {"type": "string", "pattern": f"^({'|'.join(patterns)})$"}


def _how() -> Kind:
    return Shape(options())


_OF_QUERY = {"query": Field(NAME, "the query that it waits for (default: the first)", None)}
MOMENT = {name: one.field for name, one in TRIGGERS.items()}


@dataclass(frozen=True)
class When:
    """A trigger, with `batch` beside those that take it, and the `query` whose progress it is."""

    def read(self, item: Item) -> Any:
        """Return the mapping."""
        values = Shape({**MOMENT, **_OF_QUERY}).read(item)
        if values is BAD or set(values) - {*_OF_QUERY} in _moments():
            return values
        given = " and ".join(one for one in values if one not in _OF_QUERY) or "nothing"
        choices = f"exactly one of {', '.join(MOMENT)} (batch may accompany failpoint and visible)"
        item.refuse(invalid("moment", Unplain(given), choices))
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return an object for each possible moment."""
        return {
            "oneOf": [
                Shape(
                    {name: Field(MOMENT[name].kind, MOMENT[name].about) for name in names}
                    | _OF_QUERY
                ).schema()
                for names in map(sorted, _moments())
            ]
        }


def _moments() -> list[set[str]]:
    alone = [{name} for name in TRIGGERS]
    return [*alone, *({name, "batch"} for name, one in TRIGGERS.items() if one.takes_batch)]


FAULT = Shape(
    {
        "do": Field(Registered(lambda: Word(verbs())), "the verb"),
        "target": Field(Target(), "the target"),
        "when": Field(When(), "the moment"),
        "how": Field(Registered(_how), "options of the verb", {}),
        "effect": Field(
            Word(DEMANDS), "the least effect that it must have (default: any, also none)", ""
        ),
        "name": Field(NAME, "its name in the report (default: verb and target)", None),
    }
)
