"""The same scenario on another Spark: an interpreter and jars of the job's own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from onceproof.machine.home import onceproof_home
from onceproof.scenario.catalogue import find_scenario
from onceproof.scenario.model import IN_FILE
from onceproof.setup.fetch import Coordinate, fetch
from onceproof.stacks.local.stack import LocalStack
from tests.prove.living import live
from tests.prove.strangers import ORDERS

PYSPARK = "4.0.0"
JARS = (
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{PYSPARK}",
    f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{PYSPARK}",
    "org.apache.kafka:kafka-clients:3.9.0",
    "org.apache.commons:commons-pool2:2.12.0",
    "org.scala-lang.modules:scala-parallel-collections_2.13:1.2.0",
    "org.postgresql:postgresql:42.7.14",
)
NAMES = ("jdbc_append__table__kill_driver", "merge_by_key__table__lose_commit_kill_driver")


def prove() -> str:
    lines = ["| job | Spark under test | verdict | as claimed | differences |", f"{'|---' * 5}|"]
    with tempfile.TemporaryDirectory() as made, LocalStack.up(onceproof_home() / "prove-spark"):
        folder = Path(made)
        python = _interpreter(folder)
        jars = [Coordinate.parse(jar) for jar in JARS]
        fetch(jars, folder, {})
        runtime = {"python": str(python), "jars": [str(folder / jar.file) for jar in jars]}
        file = _scenarios(folder, runtime)
        for name in NAMES:
            scenario = find_scenario(f"{file}{IN_FILE}{name}")
            home = onceproof_home() / "prove-spark"
            lines.append(_line(live(scenario, 7, folder / "runs", home)))
            sys.stderr.write(f"{lines[-1]}\n")
    return "\n".join(lines)


def _interpreter(folder: Path) -> Path:
    """A virtual environment with another pyspark, and what its jobs import."""
    uv, python = Path(sys.executable).with_name("uv"), folder / "venv/bin/python"
    wanted = [f"pyspark=={PYSPARK}", "psycopg[binary]==3.3.9"]
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder / "venv"], check=True)
    command = [uv, "pip", "install", "-q", "--python", python, *wanted]
    subprocess.run([str(word) for word in command], check=True)
    return python


def _scenarios(folder: Path, runtime: dict) -> Path:
    """The file of the strangers, but for what their jobs run on."""
    found = yaml.safe_load(ORDERS.read_text().replace("{here}", str(ORDERS.parent)))
    for one in found["scenarios"]:
        one["pipeline"] |= runtime
    file = folder / "orders.yaml"
    file.write_text(yaml.safe_dump(found))
    return file


def _line(found: dict) -> str:
    counts = found["differences"].items()
    differences = ", ".join(f"{count:,} {name}" for name, count in counts if count) or "none"
    spark = found["versions"].get("spark", "not known")
    cells = [found["scenario"], spark, found["verdict"], found["as_claimed"], differences]
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.stdout.write(prove() + "\n")
