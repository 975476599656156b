"""A scenario on its way: the fields as they were read, and where each of them stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.schema.values import BAD, Item


@dataclass(frozen=True)
class Draft:
    """The fields of one scenario; those that were refused are `BAD`."""

    owner: Item
    items: Mapping[str, Item]
    values: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """The folder of the file, from which it names others."""
        return self.owner.page.folder

    def has(self, *names: str) -> bool:
        """Whether none of these fields was refused, so that what needs them can be checked."""
        return all(self.values.get(name) is not BAD for name in names)

    def refuse(self, said: str, name: str, *path: str | int) -> None:
        """Complain at a field, or at the scenario where the field was left out."""
        item = self.items.get(name, self.owner)
        (item.find(*path) if name in self.items else item).refuse(said)

    @property
    def own_command(self) -> tuple[str, ...] | None:
        """The words of the job's command; None for a pipeline of ours."""
        pipeline = self.values["pipeline"]
        return None if isinstance(pipeline, str) else pipeline["command"]

    @property
    def pipeline_name(self) -> str:
        """The pipeline's name: for a job of somebody else what the scenario's name begins with."""
        pipeline = self.values["pipeline"]
        return pipeline if isinstance(pipeline, str) else self.name_parts[0]

    @property
    def sink_name(self) -> str:
        """The sink's name, or `module:attribute`."""
        sink = self.values["sink"]
        return str(sink if isinstance(sink, str) else sink["name"])

    @property
    def sink_options(self) -> dict[str, Any]:
        """What stands beside the sink's name."""
        sink = self.values["sink"]
        return {} if isinstance(sink, str) else {k: v for k, v in sink.items() if k != "name"}

    @property
    def name_parts(self) -> list[str]:
        """Pipeline, sink and fault, as the scenario's name tells them."""
        return re.split("__", self.values["name"], maxsplit=2)

    def fault_names(self) -> list[str]:
        """Return a name for each fault: its own, or verb and target, numbered where they repeat."""
        found: list[str] = []
        for fault in self.values["faults"]:
            role = re.sub(r"\W+", "_", fault["target"].partition("=")[0])
            name = made = f"{fault['do']}_{role}"
            number = 1
            while name in found:
                number += 1
                name = f"{made}_{number}"
            found.append(fault.get("name", name))
        return found
