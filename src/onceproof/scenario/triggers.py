"""When a fault strikes, as a scenario file says it; what a trigger means is told by the faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onceproof.failpoints import NAMES
from onceproof.faults.triggers import TRIGGERS
from onceproof.schema.kinds import Field, Kind, Shape
from onceproof.schema.scalars import Scalar, Word
from onceproof.schema.values import BAD, Item

_SHARE = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
_COUNT = {"type": "integer", "minimum": 0}
_JSON = {"acknowledged": _SHARE, "committed": _SHARE, "visible": _COUNT, "batch": _COUNT}
_ABOUT = {
    "failpoint": "a step of the protocol; the process waits there, or the checkpoint shows it",
    "acknowledged": "this share of the input is acknowledged by the brokers",
    "committed": "this share of the input is committed by the job",
    "visible": "readers see so many rows of a batch that is not committed",
    "batch": "the offsets of this batch or a later one are written, and it is not committed",
}


def _kind(name: str) -> Kind:
    if name == "failpoint":
        return Word(NAMES)
    return Scalar(TRIGGERS[name].wanted, TRIGGERS[name].is_right, _JSON[name])


FIELDS = {name: Field(_kind(name), _ABOUT[name], None) for name in TRIGGERS}


@dataclass(frozen=True)
class When:
    """Exactly one trigger; `batch` may stand beside those that take it."""

    def read(self, item: Item) -> Any:
        """Return the mapping as it stands."""
        values = Shape(FIELDS).read(item)
        if values is BAD or set(values) in _moments():
            return values
        told = " and ".join(values) or "nothing"
        item.refuse(
            f"{told} cannot be one moment: write exactly one of {', '.join(FIELDS)}"
            " (batch may stand beside failpoint and visible)"
        )
        return BAD

    def schema(self) -> dict[str, Any]:
        """Return one object for each moment that there can be."""
        return {
            "oneOf": [
                Shape(
                    {name: Field(FIELDS[name].kind, FIELDS[name].about) for name in names}
                ).schema()
                for names in map(sorted, _moments())
            ]
        }


def _moments() -> list[set[str]]:
    alone = [{name} for name in TRIGGERS]
    return [*alone, *({name, "batch"} for name, one in TRIGGERS.items() if one.takes_batch)]
