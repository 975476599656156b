"""The recompute phase in a separate process, whose Spark is warmed up before it is needed.

Run as a program, `recomputing RUN`. Spark's output goes to a log of the run, not to the terminal.
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
from onceproof.phases.all_phases import run_recompute
from onceproof.phases.detached import end_sessions
from onceproof.phases.phase import PhaseEnd, refuse_failed
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan


@contextmanager
def recomputing(run: RunDirectory, limit_s: float) -> Iterator[Callable[[], None]]:
    """Start the process, and yield a function that waits for its result or raises `StackError`.

    The process and its JVM end with the block, and also with this process.
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
            env={**os.environ, "TMPDIR": str(folder)},  # a killed process cannot clean it up
            start_new_session=True,
        )
    ended = PhaseEnd(run, "recompute")

    def result() -> None:
        words = "recompute has not ended"
        wait_for(lambda: ended.look() or child.poll() is not None, limit_s, words)
        if (end := ended.look()) is None:
            raise StackError(f"recompute: {_failure(child.returncode, log)} (see {log})")
        refuse_failed(end)

    try:
        yield result
    finally:
        end_sessions({child.pid})
        child.wait()


def _failure(code: int, log: Path) -> str:
    if code < 0:
        return f"its process was ended by {Signals(-code).name}"
    last_line = log.read_text(errors="replace").strip().splitlines()[-1:]
    return "".join(last_line) or f"its process ended with {code}"


def main(root: Path) -> int:
    """Recompute one run; print the reason of a failure as the last line."""
    run = RunDirectory(root)
    try:
        run_recompute(run, Plan.read(run.plan))
    except OnceproofError as error:
        print(error, file=sys.stderr)  # noqa: T201  a log
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
