"""What a user's own code brings in, by `module:attribute`."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from onceproof.errors import RequestError

FILE = ".py:"
HERE = "{here}/"


def find_attribute(place: str, wrong: str, write: str) -> Any:
    """Return what a `module:attribute` names, or raise `RequestError`.

    The module is one on PYTHONPATH, or a file by its whole path, `/path/to/module.py:attribute`.
    `wrong` begins the sentence of the error and `write` ends it with what to write instead.
    """
    attribute = place.rpartition(":")[2] if FILE in place else place.partition(":")[2]
    try:
        return getattr(module_of(place), attribute)
    except (ImportError, AttributeError, ValueError, OSError) as error:
        raise RequestError(f"{wrong} cannot be had ({error}): write {write}") from None


def module_of(place: str) -> ModuleType:
    """Return the module of a `module:attribute`; an `ImportError` and the like are not caught."""
    if FILE in place:
        return _load(Path(place.rpartition(":")[0]))
    return importlib.import_module(place.partition(":")[0])


def located(place: str, folder: str) -> str:
    """Return a name that holds in any folder: a file's is made whole from the one that is given."""
    if FILE not in place:
        return place
    path, _, attribute = place.rpartition(":")
    return f"{whole(path, folder)}:{attribute}"


def whole(path: str, folder: str) -> str:
    """Return a path that is named from a folder, which `{here}` stands for, as a whole one.

    Links are left as they are: an interpreter is known by the one through which it is called.
    """
    return os.path.abspath(os.path.join(folder, path.removeprefix(HERE)))


def _load(path: Path) -> ModuleType:
    """Return the module of a file, the same one at every call."""
    name = f"onceproof_{hashlib.sha256(bytes(path)).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
