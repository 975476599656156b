"""A scenario under construction: the fields as read, and their places in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from onceproof.errors import RequestError
from onceproof.references import Reference
from onceproof.runs.plan import InputPart
from onceproof.schema.values import BAD, Item
from onceproof.sinks import Sink
from onceproof.verdict import Claim

T = TypeVar("T")


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

    def attempt(self, find: Callable[[], T], name: str, *path: str) -> T | None:
        """Return the result of `find`; None, and a complaint at `path`, if it fails."""
        try:
            return find()
        except RequestError as error:
            self.refuse(str(error), *path)
        except Exception as error:  # of a user's module while it is imported
            message = f"{name!r} cannot be imported: {type(error).__name__}: {error}"
            self.refuse(f"{message}; fix that module, or use another", *path)
        return None

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

    def of_output(self, query: str, output: str) -> Draft:
        """Return the scenario as if this output were its only one."""
        asked = self.values["queries"][query]
        given = asked["outputs"][output]
        item = self.items["queries"].find(query, "outputs", output)
        pipeline = {**self.values["pipeline"], **given, "starting": asked["starting"]}
        return replace(
            self,
            items={**self.items, **(item.fields() or {}), "pipeline": item},
            values={**self.values, **given, "pipeline": pipeline},
        )


@dataclass(frozen=True)
class OutputDraft:
    """An output under construction; the parts that were refused are None.

    `draft` is the scenario as if this output were its only one, `wanted` the name of the reference
    and what the output declares, and `inputs` those of the query.
    """

    query: str
    name: str
    draft: Draft
    sink: type[Sink] | None
    wanted: tuple[str, Mapping[str, Any]] | None
    reference: Reference | None
    claim: Claim | None
    inputs: tuple[InputPart, ...]
