"""The catalogue of our own scenarios, and scenarios by name or by file."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.machine.home import catalogue_folder
from onceproof.scenario.model import FOLDER, IN_FILE, Scenario
from onceproof.scenario.reading import read_file

_ENDINGS = (".yaml", ".yml")


def load_catalogue(folder: Path | None = None) -> list[Scenario]:
    """Return every scenario of a folder, ours by default, in the order of files and lines.

    Mistakes of all files are raised at once.
    """
    found: list[Scenario] = []
    wrong: list[str] = []
    files: dict[str, str] = {}
    for path in sorted((folder or catalogue_folder()).glob("*.yaml")):
        try:
            more = read_file(path, f"{FOLDER}/{path.name}")
        except RequestError as error:
            wrong.append(str(error))
            continue
        for one in more:
            if one.name in files:
                wrong.append(f"{one.file}: {one.name!r} stands in {files[one.name]} too")
            files[one.name] = one.file
        found += [replace(one, in_catalogue=True) for one in more]
    if wrong:
        raise RequestError("\n".join(wrong))
    return found


def with_tag(tag: str, catalogue: Sequence[Scenario]) -> list[Scenario]:
    """Return the scenarios that have a tag, or raise if none has: then it is a mistake."""
    if found := [one for one in catalogue if tag in one.tags]:
        return found
    known = sorted({name for one in catalogue for name in one.tags})
    near = difflib.get_close_matches(tag, known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise RequestError(f"no scenario has the tag {tag!r}: {hint}There are {', '.join(known)}")


def find_scenario(text: str) -> Scenario:
    """Return the one scenario that is asked for: NAME, FILE, or FILE::NAME."""
    path, _, name = text.partition(IN_FILE)
    if not _is_file(path):
        return _pick(load_catalogue(), text, "the catalogue")
    found = read_file(Path(path))
    if not name and len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise RequestError(
            f"{path} holds {len(found)} scenarios: write {path}{IN_FILE}NAME with one of {names}"
        )
    return _pick(found, name or found[0].name, path)


def _is_file(text: str) -> bool:
    return text.endswith(_ENDINGS) or "/" in text


def _pick(scenarios: list[Scenario], name: str, where: str) -> Scenario:
    names = [one.name for one in scenarios]
    if name in names:
        return scenarios[names.index(name)]
    near = difflib.get_close_matches(name, names, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`onceproof list` names them all"
    raise RequestError(f"{where} has no scenario {name!r}: {hint}")
