"""A YAML file as values that know their line and key, and all that is wrong with it at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from onceproof.errors import RequestError


class Mark:
    """A value that is no value."""


BAD = Mark()  # it was refused, and a complaint noted


@dataclass(frozen=True)
class Page:
    """One file, by the name that people know it by, its folder, and the complaints so far."""

    file: str
    folder: str = "."
    complaints: dict[tuple[int, str], None] = field(default_factory=dict)

    def refuse(self, line: int, key: str, said: str) -> None:
        """Note what is wrong at a line; what was said before is not said twice."""
        self.complaints[line, f"{key}: {said}" if key else said] = None

    def check(self) -> None:
        """Raise `RequestError` with every complaint, in the order of the lines."""
        said = [f"{self.file}:{line}: {text}" for line, text in sorted(self.complaints)]
        if len(said) == 1:
            raise RequestError(said[0])
        if said:
            raise RequestError("\n  ".join([f"{self.file} has {len(said)} mistakes:", *said]))


@dataclass(frozen=True)
class Item:
    """One value of a file, the key under which it stands (`faults[0].when`), and its line."""

    page: Page
    node: yaml.Node
    key: str
    line: int

    @property
    def is_mapping(self) -> bool:
        """Whether this is a mapping, well-formed or not."""
        return isinstance(self.node, yaml.MappingNode)

    def refuse(self, said: str) -> None:
        """Note what is wrong with this value."""
        self.page.refuse(self.line, self.key, said)

    def plain(self) -> Any:
        """Return the value of a scalar; of anything else, the word for what it is."""
        if not isinstance(self.node, yaml.ScalarNode):
            return Unplain("a mapping" if self.is_mapping else "a list")
        try:
            return SafeConstructor().construct_object(self.node)
        except (ValueError, yaml.YAMLError):  # a date that is none, a tag of another language
            return Unplain(f"{self.node.value!r} with the tag {self.node.tag}")

    def fields(self) -> dict[str, Item] | None:
        """Return a mapping's values by key; None, and a complaint, where it is no mapping."""
        if not isinstance(self.node, yaml.MappingNode):
            self.refuse(f"{self.plain()!r} is no mapping: write keys and values below it")
            return None
        found: dict[str, Item] = {}
        for key, value in self.node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            line = key.start_mark.line + 1
            path = f"{self.key}.{name}" if self.key else name
            if name in found:
                before = found[name].line
                self.page.refuse(line, path, f"stands twice, in line {before} too: keep one")
            else:
                found[name] = Item(self.page, value, path, line)
        return found

    def items(self) -> list[Item] | None:
        """Return a list's values; None, and a complaint, where it is no list."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.refuse(f"{self.plain()!r} is no list: write [...], or lines that begin with -")
            return None
        return [
            Item(self.page, node, f"{self.key}[{number}]", node.start_mark.line + 1)
            for number, node in enumerate(self.node.value)
        ]

    def find(self, *path: str | int) -> Item:
        """Return the value that a path leads to, or the nearest one before it that is there."""
        here = self
        for step in path:
            if isinstance(step, str):
                below = (here.fields() or {}).get(step)
            else:
                below = (here.items() or [])[step]
            if below is None:
                return here
            here = below
        return here


@dataclass(frozen=True)
class Unplain:
    """What stands where a scalar should; its text is for an error."""

    said: str

    def __repr__(self) -> str:
        return self.said


def compose(text: str, file: str, folder: str = ".") -> Item:
    """Return a file's one document, or raise `RequestError` with the line that is no YAML."""
    try:
        node = _node(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RequestError(f"{file}:{line}: no YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise RequestError(f"{file}: no YAML: {error}") from None
    if node is None:
        raise RequestError(f"{file} is empty: write a scenario; docs/scenarios.md tells its fields")
    return Item(Page(file, folder), node, "", node.start_mark.line + 1)


def _node(text: str) -> yaml.Node | None:
    """Read with the parser in C where there is one; what it refuses the other tells in words."""
    try:
        return yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.compose(text, yaml.SafeLoader)


def none_of(value: Any, words: Iterable[str]) -> str:
    """Return the sentence for a word that is not known: the nearest that is, and all of them."""
    known = sorted(map(str, words))
    if isinstance(value, Unplain):
        return f"{value!r} cannot stand here: write one of {', '.join(known)}"
    near = difflib.get_close_matches(str(value), known, 1)
    hint = f"did you mean {near[0]!r}? Known: " if near else "write one of: "
    return f"{value!r} is not known; {hint}{', '.join(known)}"
