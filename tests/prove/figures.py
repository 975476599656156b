"""Figures of the source: `python -m tests.prove.figures` prints them, to be held against others.

With `--run` it also starts a stack and counts the files that one whole run executes. A file counts
if a function of it is called, in any process.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from onceproof.machine.home import onceproof_home
from onceproof.stacks.local.stack import LocalStack

PACKAGE = Path(__file__).parents[2] / "src/onceproof"
SCENARIO = "copy_events__upsert_table__kill_driver"
FIND = "import sys; from onceproof.scenario import find_scenario; find_scenario(sys.argv[1])"


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def modules_at_the_top() -> list[str]:
    return sorted(one.name for one in PACKAGE.glob("*.py"))


def executed_by(*command: str, timeout_s: float = 600) -> set[str]:
    """Return the files of the package of which a command, or a process of its, calls a function."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {
            "PYTHONPATH": str(Path(__file__).parent / "traced"),
            "ONCEPROOF_TRACED": folder,
            "ONCEPROOF_TRACED_PACKAGE": f"{PACKAGE}/",
        }
        subprocess.run(
            command, env=env, capture_output=True, text=True, check=True, timeout=timeout_s
        )
        return {line for path in Path(folder).iterdir() for line in path.read_text().split()}


def executed_by_finding(name: str) -> set[str]:
    return executed_by(sys.executable, "-c", FIND, name)


def executed_by_a_run() -> set[str]:
    """Return the files that a run executes on a stack that serves already."""
    home = onceproof_home() / "prove-figures"
    with tempfile.TemporaryDirectory() as runs, LocalStack.up(home):
        words = ["run", SCENARIO, "--home", str(home), "--runs", runs]
        return executed_by(sys.executable, "-m", "onceproof", *words)


def figures() -> dict[str, int]:
    return {
        "source files": len(sources()),
        "source lines": sum(len(one.read_text().splitlines()) for one in sources()),
        "modules at the top of the package": len(modules_at_the_top()),
        "files executed to find a scenario by its name": len(executed_by_finding(SCENARIO)),
    }


if __name__ == "__main__":
    found = figures()
    if "--run" in sys.argv:
        found["files executed by one run"] = len(executed_by_a_run())
    for what, count in found.items():
        sys.stdout.write(f"{count:>7,}  {what}\n")
