"""From a file of scenarios to scenarios, or to all that is wrong with the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from onceproof.errors import RequestError
from onceproof.scenario.building import build
from onceproof.scenario.model import Scenario
from onceproof.schema.page import Written, compose
from onceproof.schema.values import Item, Page, none_of

_WRITE = "a scenario; docs/scenarios.md tells its fields"
_DEEP = ("workload", "limits")  # of these, defaults give what is not said, key by key


def read_file(path: Path, shown: str = "") -> list[Scenario]:
    """Return a file's scenarios; `shown` is the name by which people know the file.

    A file with mistakes raises one `RequestError` that names each of them with its line.
    """
    folder = str(path.resolve().parent)
    found = read_text(_text(path, shown), shown or str(path), folder)
    return [replace(one, folder=folder) for one in found]


def names_in(path: Path, shown: str = "") -> list[str]:
    """Return the names of a file's scenarios, of which none is built and nothing else is read."""
    root = compose(_text(path, shown), Page(shown or str(path)), _WRITE)
    fields = root.fields() or {}
    parts = (fields["scenarios"].items() or []) if "scenarios" in fields else [root]
    return [str(one["name"].plain()) for part in parts if "name" in (one := part.fields() or {})]


def read_text(text: str, file: str, folder: str = ".") -> list[Scenario]:
    """Return the scenarios of a file's text; files that it names are named from its folder."""
    root = compose(text, Page(file, folder), _WRITE)
    found: list[Scenario] = []
    names: dict[str, int] = {}
    for owner, fields in _scenarios(root):
        scenario = build(owner, fields)
        if scenario and scenario.name in names:
            said = f"{scenario.name!r} stands in line {names[scenario.name]} too: give it another"
            fields["name"].refuse(said)
        elif scenario:
            names[scenario.name] = fields["name"].line
            found.append(scenario)
    root.page.check()
    return found


def read_fields_of(fields: Mapping[str, Any], folder: str, file: str) -> Scenario:
    """Return the one scenario with these fields."""
    root = Item(Page(file or "the scenario", folder), fields)
    found = build(root, root.fields() or {})
    root.page.check()
    if found is None:
        raise RequestError(f"{root.page.file} is no scenario, and does not say why")
    return replace(found, folder=folder)


def _text(path: Path, shown: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{shown or path} cannot be read: {error}") from None


def _scenarios(root: Item) -> list[tuple[Item, dict[str, Item]]]:
    """Return each scenario of a file, and its fields with the defaults put under them."""
    fields = root.fields() or {}
    if "scenarios" not in fields:
        return [(root, fields)] if root.is_mapping else []
    for name in fields.keys() - {"scenarios", "defaults"}:
        fields[name].refuse(f"no such key: {none_of(name, ('scenarios', 'defaults'))}")
    defaults = (fields["defaults"].fields() if "defaults" in fields else None) or {}
    for name in defaults.keys() & {*_DEEP}:
        defaults[name].fields()  # complains, whether a scenario has its own or not
    parts = fields["scenarios"].items() or []
    if "name" in defaults:
        defaults["name"].refuse("cannot be shared: write a name in each scenario")
    if parts == []:
        fields["scenarios"].refuse("holds no scenario: write at least one")
    return [(part, _merge(defaults, own)) for part in parts if (own := part.fields()) is not None]


def _merge(defaults: Mapping[str, Item], own: Mapping[str, Item]) -> dict[str, Item]:
    merged = dict(defaults) | dict(own)
    for name in _DEEP:
        if name in defaults and name in own and defaults[name].is_mapping and own[name].is_mapping:
            merged[name] = _under(defaults[name], own[name])
    return merged


def _under(defaults: Item, own: Item) -> Item:
    given, node = own.held.value, own.held
    names = {key.value for key, _ in given}
    pairs = [*given, *((key, one) for key, one in defaults.held.value if key.value not in names)]
    merged = yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark)
    return Written(own.page, merged, own.key, own.line)
