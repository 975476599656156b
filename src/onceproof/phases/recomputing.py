"""The recompute phase in a process of its own, whose Spark is up by the time it is needed.

Run as a program, `recomputing RUN`: starts a session, waits for the end of the run's agent, and
recomputes. Spark's own words go to a log of the run, and none to the terminal.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onceproof.errors import OnceproofError, StackError
from onceproof.machine.leash import leashed
from onceproof.phases.bodies import recomputed
from onceproof.run.directory import RunDirectory
from onceproof.run.plan import Plan


@contextmanager
def recomputing(run: RunDirectory, limit_s: float) -> Iterator[Any]:
    """Yield a function that returns when all is recomputed, or raises `StackError` with why not.

    The process dies with the block, and with this process.
    """
    log = run.logs / "recompute.log"
    command = leashed([sys.executable, "-m", __name__, str(run.root.absolute())])
    with log.open("ab") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def result() -> None:
        if child.wait(limit_s):
            said = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise StackError(f"recompute: {''.join(said)} (see {log})")

    try:
        yield result
    finally:
        child.terminate()
        child.wait()


def main(root: Path) -> int:
    """Recompute one run; what went wrong is the last line."""
    run = RunDirectory(root)
    try:
        recomputed(run, Plan.read(run.plan))
    except OnceproofError as error:
        print(error, file=sys.stderr)  # noqa: T201  a log
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
