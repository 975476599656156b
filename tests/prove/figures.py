"""Figures of the source: `python -m tests.prove.figures` prints them, to be held against others.

It needs no stack and imports nothing of the package into its own process.
"""

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src/onceproof"
SCENARIO = "copy_events__upsert_table__kill_driver"
FIND = """
import sys
from onceproof.scenario.catalogue import find_scenario

find_scenario(sys.argv[1])
names = sorted(one for one in sys.modules if one.partition(".")[0] == "onceproof")
print(*names, sep="\\n")
"""


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def top_level() -> list[str]:
    """The modules and packages right below the package."""
    return sorted(
        {one.relative_to(PACKAGE).parts[0].removesuffix(".py") for one in sources()}
        - {"__init__", "__main__"}
    )


def loaded_by_finding(name: str) -> list[str]:
    """Modules of the package that a fresh interpreter has loaded when it has found a scenario."""
    done = subprocess.run(
        [sys.executable, "-c", FIND, name], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def figures() -> dict[str, int]:
    return {
        "source files": len(sources()),
        "source lines": sum(len(one.read_text().splitlines()) for one in sources()),
        "top-level modules and packages": len(top_level()),
        "files loaded by finding a scenario by name": len(loaded_by_finding(SCENARIO)),
    }


if __name__ == "__main__":
    for what, count in figures().items():
        sys.stdout.write(f"{count:>7,}  {what}\n")
