"""Writes the files of which a Python process runs a function, for `tests.prove.figures`.

A file is written when its first function is called, since many of these processes are killed. The
bodies of modules and classes do not count, nor the comprehensions in them: they run when a file is
imported.
"""

import os
import sys
import threading
from pathlib import Path

OPTIMIZED = 1  # a code flag of functions, which bodies of modules and classes do not have
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def is_called(frame) -> bool:
    while frame.f_code.co_name in COMPREHENSIONS:
        frame = frame.f_back
    return bool(frame.f_code.co_flags & OPTIMIZED)


def trace(folder: str, package: str) -> None:
    seen: set[str] = set()

    def call(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name not in seen and name.endswith(".py") and is_called(frame):
            seen.add(name)
            if name.startswith(package):
                with Path(folder, str(os.getpid())).open("a") as file:
                    file.write(f"{name.removeprefix(package)}\n")

    sys.setprofile(call)
    threading.setprofile(call)


if "ONCEPROOF_TRACED" in os.environ:
    trace(os.environ["ONCEPROOF_TRACED"], os.environ["ONCEPROOF_TRACED_PACKAGE"])
