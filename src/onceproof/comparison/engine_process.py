"""The comparison in its own process, so that a crash of the engine is only an error.

Run as a program, it reads a request from its input and writes its progress to its output, line by
line, and the answer as the last line; rows that differ are a file in the scratch folder.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onceproof.comparison.columns import Request
from onceproof.comparison.result import Result
from onceproof.errors import EngineError, RequestError

# -P: a user's file duckdb.py is not imported instead of the library.
COMMAND = (sys.executable, "-P", "-m", "onceproof.comparison.engine_process")
_PR_SET_PDEATHSIG = 1
_DETAILS = "details.arrow"


def compare_in_process(
    expected: str,
    observed: str,
    request: Request,
    memory_bytes: int,
    of_each: int,
    progress: Callable[[str], None],
) -> tuple[Mapping[str, object], Result]:
    """Compare two places, or raise `EngineError` if the process crashes."""
    with TemporaryDirectory(prefix="onceproof-diff-") as folder:
        order = {
            "parent": os.getpid(),
            "scratch": folder,
            "expected": expected,
            "observed": observed,
            "key": request.key,
            "ignore": request.ignore,
            "tolerance": dict(request.tolerance),
            "memory_bytes": memory_bytes,
            "of_each": of_each,
        }
        answer = _answer(order, Path(folder, "errors.txt"), progress)
        if "refused" in answer:
            raise RequestError(answer["refused"])
        if "failed" in answer:
            raise EngineError(f"the comparison failed unexpectedly:\n{answer['failed']}")
        details = _read(Path(folder, _DETAILS)) if answer["has_details"] else None
        rows = answer["rows"]
        return answer["columns"], Result(rows[0], rows[1], answer["counts"], details)


def _answer(order: dict[str, Any], errors: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    pipe = subprocess.PIPE
    last: dict[str, Any] = {}
    with (
        errors.open("wb") as err,
        subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=err, text=True) as child,
    ):
        try:
            with suppress(BrokenPipeError), child.stdin as given:  # type: ignore[union-attr]
                given.write(json.dumps(order))  # the exit code of a crashed child has the reason
            for line in child.stdout or ():
                last = json.loads(line)
                if "progress" in last:
                    progress(last["progress"])
            code = child.wait()
        finally:
            child.kill()
    if code or not last or "progress" in last:
        raise EngineError(_crash(code, errors.read_text(errors="replace")))
    return last


def _crash(code: int, errors: str) -> str:
    how = f"exited with code {code}"
    if code < 0:
        how = f"was killed by {signal.Signals(-code).name}"
    if code == -signal.SIGKILL:
        how += ", as the kernel does when memory runs out"
    last = "".join(f": {line.strip()}" for line in errors.strip().splitlines()[-1:])
    return (
        f"the process that compares the two sides {how}{last}; nothing was compared. Try again, "
        "with less --memory if memory ran out"
    )


def _read(path: Path) -> Any:
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.read_all()


def main() -> None:
    """Carry out one request."""
    order = json.load(sys.stdin)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != order["parent"]:
        sys.exit("the process that requested the comparison has ended")
    try:
        answer = _compare(order)
    except RequestError as error:
        answer = {"refused": str(error)}
    except Exception:
        answer = {"failed": traceback.format_exc().rstrip()}
    _write(answer)


def _compare(order: Mapping[str, Any]) -> dict[str, Any]:
    from onceproof.comparison.on_duckdb.engine import compare_on_duckdb

    scratch = Path(order["scratch"])
    request = Request(tuple(order["key"]), tuple(order["ignore"]), order["tolerance"])
    plan, found = compare_on_duckdb(
        order["expected"],
        order["observed"],
        request,
        order["memory_bytes"],
        order["of_each"],
        scratch,
        lambda words: _write({"progress": words}),
    )
    if found.details is not None:
        import pyarrow as pa

        target = str(scratch / _DETAILS)
        with pa.OSFile(target, "wb") as file, pa.ipc.new_file(file, found.details.schema) as writer:
            writer.write_table(found.details)
    return {
        "columns": plan.document(),
        "rows": [found.expected_rows, found.observed_rows],
        "counts": dict(found.counts),
        "has_details": found.details is not None,
    }


def _write(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
