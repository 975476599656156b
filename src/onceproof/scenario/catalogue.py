"""The catalogue of our own scenarios, and scenarios by name or by file."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.machine.home import catalogue_folder
from onceproof.scenario.model import FOLDER, IN_FILE, Scenario
from onceproof.scenario.reading import names_in, read_file

_ENDINGS = (".yaml", ".yml")


def load_catalogue(folder: Path | None = None) -> list[Scenario]:
    """Return every scenario of a folder, ours by default, in the order of files and lines.

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
    """Return each file of the catalogue, and the name by which people know it."""
    paths = sorted((folder or catalogue_folder()).glob("*.yaml"))
    return [(path, f"{FOLDER}/{path.name}") for path in paths]


def _twice(file: str, name: str, other: str) -> str:
    return f"{file}: {name!r} stands in {other} too"


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
        return _find_by_name(text)
    found = read_file(Path(path))
    if not name and len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise RequestError(
            f"{path} holds {len(found)} scenarios: write {path}{IN_FILE}NAME with one of {names}"
        )
    return _pick(found, name or found[0].name, path)


def _find_by_name(name: str) -> Scenario:
    """Return a scenario of the catalogue; of the files only the one that holds it is built."""
    files: dict[str, list[tuple[Path, str]]] = {}
    for file in _files():
        for one in names_in(*file):
            files.setdefault(one, []).append(file)
    if name not in files:
        raise _unknown(name, list(files), "the catalogue")
    file, *others = files[name]
    if others:
        raise RequestError(_twice(others[0][1], name, file[1]))
    return replace(_pick(read_file(*file), name, file[1]), in_catalogue=True)


def _is_file(text: str) -> bool:
    return text.endswith(_ENDINGS) or "/" in text


def _pick(scenarios: list[Scenario], name: str, where: str) -> Scenario:
    for one in scenarios:
        if one.name == name:
            return one
    raise _unknown(name, [one.name for one in scenarios], where)


def _unknown(name: str, names: list[str], where: str) -> RequestError:
    near = difflib.get_close_matches(name, names, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`onceproof list` names them all"
    return RequestError(f"{where} has no scenario {name!r}: {hint}")
