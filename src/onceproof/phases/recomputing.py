"""The recompute phase in a process of its own, whose Spark is warm by the time it is needed.

Run as a program, `recomputing RUN`. Spark's own words go to a log of the run, and none to the
terminal.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import Signals

from onceproof.errors import OnceproofError, StackError
from onceproof.machine.leash import leashed
from onceproof.machine.polling import wait_for
from onceproof.phases.apart import end_sessions
from onceproof.phases.bodies import recomputed
from onceproof.phases.phase import PhaseEnd, refuse_failed
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan


@contextmanager
def recomputing(run: RunDirectory, limit_s: float) -> Iterator[Callable[[], None]]:
    """Yield a function that returns when all is recomputed, or raises `StackError` with why not.

    The process and its JVM die with the block; with this process, too.
    """
    log, folder = run.logs / "recompute.log", run.spark_recompute.absolute()
    folder.mkdir(exist_ok=True)
    command = leashed([sys.executable, "-m", __name__, str(run.root.absolute())])
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, "TMPDIR": str(folder)},  # what is killed cannot clear it
            start_new_session=True,
        )
    ended = PhaseEnd(run, "recompute")

    def result() -> None:
        words = "recompute has not ended"
        wait_for(lambda: ended.look() or child.poll() is not None, limit_s, words)
        if (end := ended.look()) is None:
            raise StackError(f"recompute: {_last_words(child.returncode, log)} (see {log})")
        refuse_failed(end)

    try:
        yield result
    finally:
        end_sessions({child.pid})
        child.wait()


def _last_words(code: int, log: Path) -> str:
    if code < 0:
        return f"its process was ended by {Signals(-code).name}"
    said = log.read_text(errors="replace").strip().splitlines()[-1:]
    return "".join(said) or f"its process ended with {code}"


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
