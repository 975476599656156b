"""Values of options or of a YAML file, each with its key and line, and all mistakes at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onceproof.errors import RequestError, invalid, unknown

if TYPE_CHECKING:  # sinks in production read options without YAML
    import yaml


class Mark:
    """The type of markers in place of a value."""


BAD = Mark()  # a refused value, whose complaint is noted


@dataclass(frozen=True)
class Page:
    """A file or a set of options, by its name for display, and the complaints so far.

    `folder` is the file's. `conceals`: values are not shown, as one may be a secret by mistake.
    """

    file: str
    folder: str = "."
    conceals: bool = False
    complaints: dict[tuple[int, str], None] = field(default_factory=dict)

    def refuse(self, line: int, key: str, message: str) -> None:
        """Note a complaint at a line, once."""
        self.complaints[line, f"{key}: {message}" if key else message] = None

    def check(self) -> None:
        """Raise `RequestError` with every complaint, in the order of the lines."""
        lines = [
            f"{self.file}:{line}: {text}" if line else text
            for line, text in sorted(self.complaints)
        ]
        if len(lines) > 1:
            raise RequestError("\n  ".join([f"{self.file} has {len(lines)} mistakes:", *lines]))
        for (line, _), text in zip(self.complaints, lines, strict=True):
            raise RequestError(text if line else f"{self.file}: {text}")


@dataclass(frozen=True)
class Unplain:
    """A placeholder for a value that is not a scalar; its text is for an error."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Item:
    """A value in memory, and its key (`faults[0].when`).

    Its line is 0; `Written` has those of files.
    """

    page: Page
    held: Any
    key: str = ""
    line: int = 0

    @property
    def is_mapping(self) -> bool:
        """Whether this is a mapping, well-formed or not."""
        return isinstance(self.held, Mapping)

    @property
    def is_list(self) -> bool:
        """Whether this is a list."""
        return isinstance(self.held, list | tuple)

    @property
    def display(self) -> Any:
        """The value as an error shows it."""
        return Unplain("(hidden)") if self.page.conceals else self.plain()

    def refuse(self, message: str) -> None:
        """Note a complaint about this value."""
        self.page.refuse(self.line, self.key, message)

    def refuse_unknown(self, what: str, choices: Iterable[str]) -> None:
        """Note that this value is not among the choices."""
        value = self.plain()
        if isinstance(value, Unplain):  # a mapping has no nearest choice
            self.refuse(invalid(what, value, f"one of {', '.join(sorted(choices))}"))
        else:
            self.refuse(unknown(what, value, choices))

    def plain(self) -> Any:
        """Return the value of a scalar, and an `Unplain` for a mapping or a list."""
        if self.is_mapping or self.is_list:
            return Unplain("{...}" if self.is_mapping else "[...]")
        return self._scalar()

    def fields(self) -> dict[str, Item] | None:
        """Return a mapping's values by key; None, and a complaint, for any other value."""
        if not self.is_mapping:
            self.refuse(invalid("value", self.display, "a mapping: keys and values below it"))
            return None
        found: dict[str, Item] = {}
        for name, line, held in self._pairs():
            path = f"{self.key}.{name}" if self.key else name
            if name in found:
                before = found[name].line
                self.page.refuse(line, path, f"duplicate key, first in line {before}; keep one")
            else:
                found[name] = type(self)(self.page, held, path, line)
        return found

    def items(self) -> list[Item] | None:
        """Return a list's values; None, and a complaint, for any other value."""
        if not self.is_list:
            self.refuse(invalid("value", self.display, "a list: [...], or lines that begin with -"))
            return None
        return [
            type(self)(self.page, held, f"{self.key}[{number}]", line)
            for number, (line, held) in enumerate(self._values())
        ]

    def find(self, *path: str | int) -> Item:
        """Return the value at a path, or the nearest one above it that exists."""
        here: Item = self
        for step in path:
            if isinstance(step, str):
                below = (here.fields() or {}).get(step)
            else:
                below = (here.items() or [])[step]
            if below is None:
                return here
            here = below
        return here

    def _scalar(self) -> Any:
        return self.held

    def _pairs(self) -> Iterator[tuple[str, int, Any]]:
        yield from ((str(name), 0, held) for name, held in self.held.items())

    def _values(self) -> Iterator[tuple[int, Any]]:
        yield from ((0, held) for held in self.held)


@dataclass(frozen=True)
class Written(Item):
    """A value of a YAML file, held as a node."""

    @property
    def is_mapping(self) -> bool:
        """Whether this is a mapping, well-formed or not."""
        return bool(self.held.id == "mapping")

    @property
    def is_list(self) -> bool:
        """Whether this is a list."""
        return bool(self.held.id == "sequence")

    def _scalar(self) -> Any:
        import yaml
        from yaml.constructor import SafeConstructor

        try:
            return SafeConstructor().construct_object(self.held)
        except (ValueError, yaml.YAMLError):  # an invalid date, a tag of another language
            return Unplain(f"{self.held.value!r} with the tag {self.held.tag}")

    def _pairs(self) -> Iterator[tuple[str, int, Any]]:
        for key, value in self.held.value:
            name = key.value if key.id == "scalar" else "?"
            yield name, key.start_mark.line + 1, value

    def _values(self) -> Iterator[tuple[int, Any]]:
        yield from ((node.start_mark.line + 1, node) for node in self.held.value)


def compose(text: str, page: Page, write: str) -> Written:
    """Return a file's one document, or raise `RequestError` with the line that is not YAML.

    `write` is the remedy for an empty file.
    """
    import yaml

    try:
        node = _node(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RequestError(f"{page.file}:{line}: invalid YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise RequestError(f"{page.file}: invalid YAML: {error}") from None
    if node is None:
        raise RequestError(f"{page.file} is empty; write {write}")
    return Written(page, node, "", node.start_mark.line + 1)


def _node(text: str) -> yaml.Node | None:
    """Parse with libyaml if available; its errors are replaced by those of the slower parser."""
    import yaml

    try:
        return yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.compose(text, yaml.SafeLoader)
