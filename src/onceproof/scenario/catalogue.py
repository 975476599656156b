"""Scenario files, read by name or path, and the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from onceproof.errors import RequestError, unknown
from onceproof.machine.home import catalogue_folder
from onceproof.scenario.building import build
from onceproof.scenario.model import FOLDER, IN_FILE, Scenario
from onceproof.schema.values import Item, Page, Written, compose

_WRITE = "a scenario; docs/test-a-job/scenarios.md has its fields"
_ENDINGS = (".yaml", ".yml")
_DEEP = ("workload", "limits")  # defaults of these are merged key by key


def read_file(path: Path, shown: str = "", only: str = "") -> list[Scenario]:
    """Return a file's scenarios; `shown` is the file's name for display.

    A file with mistakes raises one `RequestError` with all of them and their lines.
    """
    folder = str(path.resolve().parent)
    found = read_text(_text(path, shown), shown or str(path), folder, only)
    return [replace(one, folder=folder) for one in found]


def names_in(path: Path, shown: str = "") -> list[str]:
    """Return the names of a file's scenarios, without building them."""
    root = compose(_text(path, shown), Page(shown or str(path)), _WRITE)
    fields = root.fields() or {}
    parts = (fields["scenarios"].items() or []) if "scenarios" in fields else [root]
    return [str(one["name"].plain()) for part in parts if "name" in (one := part.fields() or {})]


def read_text(text: str, file: str, folder: str = ".", only: str = "") -> list[Scenario]:
    """Return the scenarios of a file's text, or only the one named `only`.

    Names of files in it are relative to `folder`.
    """
    root = compose(text, Page(file, folder), _WRITE)
    found: list[Scenario] = []
    names: dict[str, int] = {}
    for owner, fields in _scenarios(root):
        if only and ("name" not in fields or fields["name"].plain() != only):
            continue
        scenario = build(owner, fields)
        if scenario and scenario.name in names:
            first = names[scenario.name]
            fields["name"].refuse(
                f"duplicate name {scenario.name!r}, first in line {first}; rename one"
            )
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
        raise RequestError(f"{root.page.file} is not a scenario, for an unknown reason")
    return replace(found, folder=folder)


def _text(path: Path, shown: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{shown or path} cannot be read: {error}") from None


def _scenarios(root: Item) -> list[tuple[Item, dict[str, Item]]]:
    """Return each scenario of a file, and its fields merged with the defaults."""
    fields = root.fields() or {}
    if "scenarios" not in fields:
        return [(root, fields)] if root.is_mapping else []
    for name in fields.keys() - {"scenarios", "defaults"}:
        fields[name].refuse(unknown("key", name, ("scenarios", "defaults")))
    defaults = (fields["defaults"].fields() if "defaults" in fields else None) or {}
    for name in defaults.keys() & {*_DEEP}:
        defaults[name].fields()  # notes complaints, whether scenarios override it or not
    parts = fields["scenarios"].items() or []
    if "name" in defaults:
        defaults["name"].refuse("cannot be shared; write a name in each scenario")
    if parts == []:
        fields["scenarios"].refuse("is empty; write at least one scenario")
    return [(part, _merge(defaults, own)) for part in parts if (own := part.fields()) is not None]


def _merge(defaults: Mapping[str, Item], own: Mapping[str, Item]) -> dict[str, Item]:
    merged = dict(defaults) | dict(own)
    for name in _DEEP:
        if name in defaults and name in own and defaults[name].is_mapping and own[name].is_mapping:
            merged[name] = _with_defaults(defaults[name], own[name])
    return merged


def _with_defaults(defaults: Item, own: Item) -> Item:
    given, node = own.held.value, own.held
    names = {key.value for key, _ in given}
    pairs = [*given, *((key, one) for key, one in defaults.held.value if key.value not in names)]
    merged = yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark)
    return Written(own.page, merged, own.key, own.line)


def load_catalogue(folder: Path | None = None) -> list[Scenario]:
    """Return every scenario of a folder, by default the catalogue's, by file and line.

    Mistakes of all files are raised at once.
    """
    found: list[Scenario] = []
    wrong: list[str] = []
    files: dict[str, str] = {}
    for path, shown in _files(folder):
        try:
            more = read_file(path, shown)
        except RequestError as error:
            wrong.append(str(error))
            continue
        for one in more:
            if one.name in files:
                wrong.append(_twice(one.file, one.name, files[one.name]))
            files[one.name] = one.file
        found += [replace(one, in_catalogue=True) for one in more]
    if wrong:
        raise RequestError("\n".join(wrong))
    return found


def _files(folder: Path | None = None) -> list[tuple[Path, str]]:
    paths = sorted((folder or catalogue_folder()).glob("*.yaml"))
    return [(path, f"{FOLDER}/{path.name}") for path in paths]


def _twice(file: str, name: str, other: str) -> str:
    return f"{file}: duplicate scenario {name!r}, also in {other}; rename one"


def catalogue_names() -> list[str]:
    """Return the names of all scenarios of the catalogue, without building them."""
    return [name for file in _files() for name in names_in(*file)]


def with_tag(tag: str, catalogue: Sequence[Scenario]) -> list[Scenario]:
    """Return the scenarios with a tag, or raise `RequestError` if no scenario has it."""
    if found := [one for one in catalogue if tag in one.tags]:
        return found
    raise RequestError(unknown("tag", tag, {name for one in catalogue for name in one.tags}))


def find_scenario(text: str) -> Scenario:
    """Return the scenario NAME, FILE, or FILE::NAME."""
    if not is_in_file(text):
        return _find_by_name(text)
    path, _, name = text.partition(IN_FILE)
    found = read_file(Path(path))
    if not name and len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise RequestError(
            f"{path} has {len(found)} scenarios; write {path}{IN_FILE}NAME with one of {names}"
        )
    return _pick(found, name or found[0].name, path)


def _find_by_name(name: str) -> Scenario:
    """Return a scenario of the catalogue, without building others."""
    files: dict[str, list[tuple[Path, str]]] = {}
    for file in _files():
        for one in names_in(*file):
            files.setdefault(one, []).append(file)
    if name not in files:
        raise RequestError(unknown("scenario", name, files, listed_by="`onceproof list`"))
    file, *others = files[name]
    if others:
        raise RequestError(_twice(others[0][1], name, file[1]))
    return replace(_pick(read_file(*file, only=name), name, file[1]), in_catalogue=True)


def is_in_file(text: str) -> bool:
    """Whether this names a scenario of a file, FILE or FILE::NAME, and not of the catalogue."""
    path = text.partition(IN_FILE)[0]
    return path.endswith(_ENDINGS) or "/" in path


def _pick(scenarios: list[Scenario], name: str, where: str) -> Scenario:
    for one in scenarios:
        if one.name == name:
            return one
    names = [one.name for one in scenarios]
    raise RequestError(f"{where}: {unknown('scenario', name, names)}")
