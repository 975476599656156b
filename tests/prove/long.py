"""The tests that CI leaves out: each shows once more what a test of CI or another part shows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict

# Two files at once, as in `make test`.
COMMAND = [
    *(sys.executable, "-m", "pytest", "-m", "long", "-vv", "--durations=0"),
    *("--numprocesses", "2", "--dist", "loadfile", "--no-loadscope-reorder"),
]
_TIME = re.compile(r"([\d.]+)s (?:call|setup|teardown) +(\S+?)(\[.*\])?$")


def prove() -> str:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as tests:
        lines = [_echoed(line) for line in tests.stdout or ()]
    if tests.returncode:
        raise SystemExit(f"pytest -m long exits with {tests.returncode}")
    return section(lines)


def _echoed(line: str) -> str:
    sys.stderr.write(line)
    return line.rstrip("\n")


def section(lines: list[str]) -> str:
    """Return the table: each test with its cases and their seconds, set-up included."""
    seconds: dict[str, float] = defaultdict(float)
    cases: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if found := _TIME.match(line.strip()):
            time, test, case = found.groups()
            seconds[test] += float(time)
            cases[test].add(case or "")
    (passed,) = (line.strip("= ") for line in lines if re.search(r"=+ \d+ passed", line))
    rows = (
        f"| `{test.rpartition('::')[2]}` | `{test.partition('::')[0]}` | {len(cases[test])}"
        f" | {seconds[test]:.0f} |"
        for test in sorted(seconds)
    )
    return "\n".join([f"{passed}.", "", "| test | file | cases | s |", "|---|---|---|---|", *rows])
