"""A scenario under construction: the fields as read, and their places in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.schema.values import BAD, Item


@dataclass(frozen=True)
class Draft:
    """The fields of one scenario; refused ones are `BAD`."""

    owner: Item
    items: Mapping[str, Item]
    values: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """The folder of the file, to which names of files are relative."""
        return self.owner.page.folder

    def has(self, *names: str) -> bool:
        """Whether none of these fields was refused."""
        return all(self.values.get(name) is not BAD for name in names)

    def refuse(self, message: str, name: str, *path: str | int) -> None:
        """Note a complaint at a field, or at the scenario if the field is absent."""
        item = self.items.get(name, self.owner)
        (item.find(*path) if name in self.items else item).refuse(message)

    @property
    def own_command(self) -> tuple[str, ...] | None:
        """The words of the job's command; None for a pipeline of the catalogue."""
        pipeline = self.values["pipeline"]
        return None if isinstance(pipeline, str) else pipeline["command"]

    @property
    def pipeline_name(self) -> str:
        """The pipeline's name; for a user's job the first part of the scenario's name."""
        pipeline = self.values["pipeline"]
        return pipeline if isinstance(pipeline, str) else self.name_parts[0]

    @property
    def sink_name(self) -> str:
        """The sink's name, or `module:attribute`."""
        sink = self.values["sink"]
        return str(sink if isinstance(sink, str) else sink["name"])

    @property
    def sink_options(self) -> dict[str, Any]:
        """The fields beside the sink's name."""
        sink = self.values["sink"]
        return {} if isinstance(sink, str) else {k: v for k, v in sink.items() if k != "name"}

    @property
    def name_parts(self) -> list[str]:
        """Pipeline, sink and fault: the parts of the scenario's name."""
        return re.split("__", self.values["name"], maxsplit=2)

    def fault_names(self) -> list[str]:
        """Return a name for each fault: its own, or verb and target, numbered if repeated."""
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
