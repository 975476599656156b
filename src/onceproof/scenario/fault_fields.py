"""The fields of a fault in a scenario file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onceproof.run.work import DEMANDS
from onceproof.scenario.how import HOW
from onceproof.scenario.targets import TARGETS, find_target, verbs
from onceproof.scenario.triggers import When
from onceproof.schema.kinds import Field, Shape
from onceproof.schema.scalars import Word, text
from onceproof.schema.values import BAD, Item, none_of

NAME = text(r"[a-z][a-z0-9_]{0,59}", "at most 60 small letters, digits and _")


@dataclass(frozen=True)
class Target:
    """What a fault strikes, by its role."""

    def read(self, item: Item) -> Any:
        """Return the text."""
        if find_target(value := item.plain()):
            return value
        item.refuse(none_of(value, TARGETS))
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return the words, and those with a number as patterns."""
        patterns = [name.replace("<partition>", "[0-9]+") for name in TARGETS]
        return {"type": "string", "pattern": f"^({'|'.join(patterns)})$"}


FAULT = Shape(
    {
        "do": Field(Word(verbs()), "what is done"),
        "target": Field(Target(), "to whom it is done"),
        "when": Field(When(), "the moment at which it strikes"),
        "how": Field(HOW, "how it is done, where the verb leaves that open", {}),
        "effect": Field(
            Word(DEMANDS), "the least effect that it must have; left out: any, also none", ""
        ),
        "name": Field(NAME, "its name in the report, made from verb and target", None),
    }
)
