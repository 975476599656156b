"""Loading users' own code by `module:attribute`."""

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


def find_attribute(place: str, what: str, use: str) -> Any:
    """Return the object at `module:attribute`, or raise `RequestError`.

    The module is on PYTHONPATH, or a file by its absolute path, `/path/to/module.py:attribute`.
    The error begins with `what` and ends with `use`, which describes valid values.
    """
    attribute = place.rpartition(":")[2] if FILE in place else place.partition(":")[2]
    try:
        return getattr(module_of(place), attribute)
    except (ImportError, AttributeError, ValueError, OSError) as error:
        raise RequestError(f"{what} cannot be loaded ({error}); use {use}") from None


def module_of(place: str) -> ModuleType:
    """Return the module of a `module:attribute`; errors of the import are not caught."""
    if FILE in place:
        return _load(Path(place.rpartition(":")[0]))
    return importlib.import_module(place.partition(":")[0])


def located(place: str, folder: str) -> str:
    """Return a name that is valid in any folder: a file's path is resolved against `folder`."""
    if FILE not in place:
        return place
    path, _, attribute = place.rpartition(":")
    return f"{whole(path, folder)}:{attribute}"


def whole(path: str, folder: str) -> str:
    """Return the absolute path of a path in a folder; `{here}/` is the folder itself.

    Links are not resolved: an interpreter's environment depends on the link that starts it.
    """
    return os.path.abspath(os.path.join(folder, path.removeprefix(HERE)))


def _load(path: Path) -> ModuleType:
    # the same module object at every call
    name = f"onceproof_{hashlib.sha256(bytes(path)).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
