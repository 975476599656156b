"""Digests of the files that determine a run's expected rows, by path-independent names.

They are the reference, the workload, the sink's functions, input files, the suites, and Onceproof's
own references and workloads.
"""

from __future__ import annotations

import hashlib
import json
import site
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from onceproof.digests import file_digest, files_digest
from onceproof.documents import read_object
from onceproof.errors import OnceproofError
from onceproof.machine.home import expectations_folder
from onceproof.naming import FILE, module_of
from onceproof.runs.plan import Plan
from onceproof.runs.suites import SOURCE
from onceproof.scenario.model import Scenario

_PACKAGE = Path(__file__).parents[1]
_OWN = ("references", "workloads")
_LIBRARIES = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib")]
_LIBRARIES += [Path(one) for one in site.getsitepackages()]


def expectations_of(scenario: Scenario) -> dict[str, Any]:
    """Return the suites of a scenario by the rows that they check.

    They are that of the differences, that of a pipeline of ours if there is one, and the scenario's
    own, which are read or built here.
    """
    folder = expectations_folder()
    found: dict[str, Any] = {"differences": read_object(folder / "differences.json")}
    own = folder / f"{scenario.job.name}.json"
    if scenario.is_ours and own.exists():
        found["observed"] = read_object(own)
    for suite in scenario.expectations:
        found.setdefault(suite.on, []).append(suite.planned())
    return found


def deciding_files(one: Scenario | Plan) -> list[Path]:
    """Return the user's files that determine the expected rows of a scenario or plan.

    They are the modules of the reference, the workload, the sink and the functions in their
    options, the user's modules that those import, and each file that an option names. Onceproof's
    own modules and installed packages are excluded.
    """
    found: set[Path] = set()
    names = [
        *(name for output in one.outputs for name in (output.reference, output.sink)),
        *(read.workload for read in one.inputs),
    ]
    for name in names:
        found |= _modules_of(name) if ":" in name else set()
    options = [*(read.options for read in one.inputs), *(output.options for output in one.outputs)]
    for text in _texts(options):
        if FILE in text:
            found |= _modules_of(text)
        elif text.startswith("/") and _is_file(text):
            found.add(Path(text))
    return sorted(found)


def digests_of(files: list[Path], suites: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of the files by name, of the suites, and of Onceproof's own modules."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in files:
        by_name[path.name].append(file_digest(path))
    found = {name: _one(digests) for name, digests in sorted(by_name.items())}
    found |= suites_digest(suites)
    for name in _OWN:
        folder = _PACKAGE / name
        found[f"onceproof.{name}"] = files_digest(folder.rglob("*.py"), folder)
    return found


def suites_digest(suites: Any) -> dict[str, str]:
    """Return the digest of the suites of a plan, under its name; their places do not matter."""
    kept = {
        on: [_without_place(one) for one in found] if isinstance(found, list) else found
        for on, found in suites.items()
    }
    text = json.dumps(kept, sort_keys=True)
    return {"the suites": hashlib.sha256(text.encode()).hexdigest()}


def _without_place(suite: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in suite.items() if name != SOURCE}


def _one(digests: list[str]) -> str:
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _modules_of(place: str) -> set[Path]:
    """Return the file of a `module:attribute`, and the user's modules that it imports."""
    try:
        first = module_of(place)
    except (ImportError, AttributeError, ValueError, OSError, OnceproofError):
        return set()  # not a module, but another text
    found: set[Path] = set()
    waiting = [first]
    while waiting:
        module = waiting.pop()
        path = Path(getattr(module, "__file__", None) or "/")
        if path in found or not _is_users(path):
            continue
        found.add(path)
        waiting += _imported(module)
    return found


def _imported(module: ModuleType) -> list[ModuleType]:
    """Return the modules that the names of a module come from."""
    found = []
    for value in vars(module).copy().values():
        name = value.__name__ if isinstance(value, ModuleType) else None
        origin = sys.modules.get(str(name or getattr(value, "__module__", "")))
        if isinstance(origin, ModuleType):
            found.append(origin)
    return found


def _is_users(path: Path) -> bool:
    return path.is_file() and not any(folder in path.parents for folder in (*_LIBRARIES, _PACKAGE))


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False
