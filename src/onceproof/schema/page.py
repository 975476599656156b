"""A YAML file as values that know their line and key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from onceproof.errors import RequestError
from onceproof.schema.values import Item, Page, Unplain


@dataclass(frozen=True)
class Written(Item):
    """One value of a YAML file; what it holds is a node."""

    @property
    def is_mapping(self) -> bool:
        """Whether this is a mapping, well-formed or not."""
        return isinstance(self.held, yaml.MappingNode)

    @property
    def is_list(self) -> bool:
        """Whether this is a list."""
        return isinstance(self.held, yaml.SequenceNode)

    def _scalar(self) -> Any:
        try:
            return SafeConstructor().construct_object(self.held)
        except (ValueError, yaml.YAMLError):  # a date that is none, a tag of another language
            return Unplain(f"{self.held.value!r} with the tag {self.held.tag}")

    def _pairs(self) -> Iterator[tuple[str, int, Any]]:
        for key, value in self.held.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            yield name, key.start_mark.line + 1, value

    def _values(self) -> Iterator[tuple[int, Any]]:
        yield from ((node.start_mark.line + 1, node) for node in self.held.value)


def compose(text: str, page: Page, write: str) -> Written:
    """Return a file's one document, or raise `RequestError` with the line that is no YAML.

    `write` ends the error of an empty file.
    """
    try:
        node = _node(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RequestError(f"{page.file}:{line}: no YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise RequestError(f"{page.file}: no YAML: {error}") from None
    if node is None:
        raise RequestError(f"{page.file} is empty: write {write}")
    return Written(page, node, "", node.start_mark.line + 1)


def _node(text: str) -> yaml.Node | None:
    """Read with the parser in C where there is one; what it refuses the other tells in words."""
    try:
        return yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.compose(text, yaml.SafeLoader)
