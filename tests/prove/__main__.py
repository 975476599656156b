"""`make prove PART=...`: what is too long for CI; its result goes to docs/reference/results.md."""

import datetime
import re
import subprocess
import sys
from pathlib import Path

from tests.prove import (
    airflow,
    catalogue,
    compose,
    crash_points,
    damage,
    evidence,
    fuzz_diff,
    kills,
    landing,
    leftovers,
    long,
    mixed,
    mutants,
    nights_cut_off,
    other_spark,
    pythons,
    runs,
    seeds_case,
    stack,
    strangers,
    table,
)
from tests.prove.version import commit

PARTS = {
    "stack": stack.prove,
    "pythons": pythons.prove,
    "start": lambda: printed_by("benchmarks/stack_start.py"),
    "produce": lambda: printed_by("benchmarks/produce_speed.py"),
    "runs": runs.prove,
    "catalogue": catalogue.prove,
    "crash_points": crash_points.prove,
    "table": table.prove,
    "false_reds": kills.prove,
    "mutants": mutants.prove,
    "strangers": strangers.prove,
    "other_spark": other_spark.prove,
    "damage": damage.prove,
    "evidence": evidence.prove,
    "leftovers": leftovers.prove,
    "long": long.prove,
    "nights_cut_off": nights_cut_off.prove,
    "mixed": mixed.prove,
    "seeds_case": seeds_case.prove,
    "landing": landing.prove,
    "airflow": airflow.prove,
    "airflow_cost": lambda: printed_by("benchmarks/airflow_cost.py"),
    "compose": compose.prove,
    "cost": lambda: printed_by("benchmarks/run_cost.py"),
    "sinks": lambda: printed_by("benchmarks/sink_speed.py"),
    "topics": lambda: printed_by("benchmarks/topic_speed.py"),
    "fuzz_diff": fuzz_diff.prove,
    "diff": lambda: (
        printed_by("benchmarks/diff_speed.py", "1", "10", "30")
        + printed_by("benchmarks/diff_spark.py", "10", "1")
    ),
}
RESULTS = Path(__file__).parents[2] / "docs/reference/results.md"
HEAD = """# Results

What `make prove` measured, with commit and date. A section holds for its commit: a later one may
have more scenarios, crash points and tests. Notes between the tables are added by hand, and go when
a part is run again.
"""


def printed_by(script: str, *arguments: str) -> str:
    command = [sys.executable, script, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def write(part: str, text: str) -> None:
    """Replace the part's section, or add it."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    section = (
        f"\n## {part}\n\n`make prove PART={part}`, commit {commit()}, {today}.\n\n{text.strip()}\n"
    )
    before = RESULTS.read_text() if RESULTS.exists() else HEAD
    without = re.sub(rf"\n## {part}\n.*?(?=\n## |\Z)", "", before, flags=re.DOTALL)
    RESULTS.write_text(without + section)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(
            f"PART={' '.join(sys.argv[1:])} is unknown; write make prove PART={'|'.join(PARTS)}"
        )
    write(sys.argv[1], PARTS[sys.argv[1]]())
