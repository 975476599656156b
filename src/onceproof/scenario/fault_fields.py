"""The fields of a fault in a scenario file: what is done, to whom, when and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onceproof.faults.registry import all_targets, find_target, options, verbs
from onceproof.faults.triggers import TRIGGERS
from onceproof.runs.plan import DEMANDS
from onceproof.schema.kinds import Field, Kind, Shape, Word, text
from onceproof.schema.values import BAD, Item

NAME = text(r"[a-z][a-z0-9_]{0,59}", "at most 60 small letters, digits and _")


@dataclass(frozen=True)
class Registered:
    """A kind of value that is made of the registry of mechanisms whenever it is asked."""

    kind: Callable[[], Kind]

    def read(self, item: Item) -> Any:
        """Return the value."""
        return self.kind().read(item)

    def schema(self) -> dict[str, Any]:
        """Return the schema of what there is."""
        return self.kind().schema()


@dataclass(frozen=True)
class Target:
    """What a fault strikes, by its role."""

    def read(self, item: Item) -> Any:
        """Return the text."""
        if find_target(value := item.plain()):
            return value
        item.refuse_unknown("target", all_targets())
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return the words, and those with a number as patterns."""
        patterns = [name.replace("<partition>", "[0-9]+") for name in all_targets()]
        return {"type": "string", "pattern": f"^({'|'.join(patterns)})$"}


def _how() -> Kind:
    return Shape(options())


MOMENT = {name: one.field for name, one in TRIGGERS.items()}


@dataclass(frozen=True)
class When:
    """Exactly one trigger; `batch` may stand beside those that take it."""

    def read(self, item: Item) -> Any:
        """Return the mapping as it stands."""
        values = Shape(MOMENT).read(item)
        if values is BAD or set(values) in _moments():
            return values
        told = " and ".join(values) or "nothing"
        item.refuse(
            f"{told} cannot be one moment: write exactly one of {', '.join(MOMENT)}"
            " (batch may stand beside failpoint and visible)"
        )
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return one object for each moment that there can be."""
        return {
            "oneOf": [
                Shape(
                    {name: Field(MOMENT[name].kind, MOMENT[name].about) for name in names}
                ).schema()
                for names in map(sorted, _moments())
            ]
        }


def _moments() -> list[set[str]]:
    alone = [{name} for name in TRIGGERS]
    return [*alone, *({name, "batch"} for name, one in TRIGGERS.items() if one.takes_batch)]


FAULT = Shape(
    {
        "do": Field(Registered(lambda: Word(verbs())), "what is done"),
        "target": Field(Target(), "to whom it is done"),
        "when": Field(When(), "the moment at which it strikes"),
        "how": Field(Registered(_how), "how it is done, where the verb leaves that open", {}),
        "effect": Field(
            Word(DEMANDS), "the least effect that it must have; left out: any, also none", ""
        ),
        "name": Field(NAME, "its name in the report, made from verb and target", None),
    }
)
