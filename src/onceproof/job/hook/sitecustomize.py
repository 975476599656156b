"""A hook on PYTHONPATH that runs first in the job's Python, and records the files it imports.

Each file is written when it is imported, so the record of a killed job is complete. The job's own
`sitecustomize`, its `sys.path` and its PYTHONPATH are the same as without the hook. It runs in any
Python of the job from 3.8 on.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def _leave_path() -> None:
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != _HERE]
    words = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    words = [one for one in words if os.path.abspath(one) != _HERE]
    os.environ.pop("PYTHONPATH", None)
    if any(words):
        os.environ["PYTHONPATH"] = os.pathsep.join(words)


class _Notes:
    """The open file, and the lines that are in it."""

    def __init__(self, place: str) -> None:
        self.handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.lines = set()  # type: ignore[var-annotated]  # of Python 3.8 too

    def write(self, kind: str, text: Any) -> None:
        line = f"{kind} {text}\n"
        if isinstance(text, str) and text[:1] not in ("", "<") and line not in self.lines:
            self.lines.add(line)
            os.write(self.handle, line.encode("utf-8", "surrogateescape"))

    def look(self, event: str, given: Any) -> None:
        if event == "exec":
            self.write_file(getattr(given[0], "co_filename", None))
        elif event == "cpython.run_file":
            self.write_file(given[0])
        elif event == "import":
            self.write_file(given[1])  # a path only for modules not written in Python

    def write_file(self, path: Any) -> None:
        is_file = isinstance(path, str) and path[:1] not in ("", "<")
        self.write("file", os.path.abspath(path) if is_file else None)


def _watch(place: str) -> None:
    notes = _Notes(place)
    version = ".".join(map(str, sys.version_info[:3]))
    notes.write("python", f"{sys.implementation.name} {version}")
    sys.addaudithook(notes.look)


def _go_on() -> None:
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_leave_path()
if os.environ.get("ONCEPROOF_IMPORTED") and sys.version_info >= (3, 8):
    try:
        _watch(os.environ["ONCEPROOF_IMPORTED"])
    except OSError as error:
        sys.stderr.write(f"onceproof: imported files cannot be recorded: {error}\n")
_go_on()
