"""Cost of a comparison on Spark, beside plain `exceptAll` and the library datacompy.

Arguments: millions of rows a side (default: 10), then those of datacompy (default: as many; ours
are measured at that size too). Each size has a warm local[2] session without quick settings; turns
are interleaved, and the faster of the second and third counts. datacompy runs in a temporary
environment, is warmed up on a hundredth of the rows, and has one turn.
"""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, __file__.rpartition("/")[0])

TURNS = 3
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@contextmanager
def session(scratch: str):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.local.dir", scratch)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    try:
        yield made
    finally:
        made.stop()


def judged(engine: str):
    def run(spark, expected: str, observed: str) -> dict[str, int]:
        from onceproof.comparison import compare

        found = compare(expected, observed, key=["id"], engine=engine, spark=spark)
        return dict(sorted(found.counts.items()))

    return run


def except_all(spark, expected: str, observed: str) -> dict[str, int]:
    e, o = spark.read.parquet(expected), spark.read.parquet(observed)
    return {"expected only": e.exceptAll(o).count(), "observed only": o.exceptAll(e).count()}


def datacompy(spark, expected: str, observed: str) -> dict[str, int]:
    """Count the differences without its report, which would count even more."""
    from datacompy.spark import SparkSQLCompare

    sides = (spark.read.parquet(side) for side in (expected, observed))
    found = SparkSQLCompare(spark, *sides, join_columns=["id"])
    matching = found.count_matching_rows()
    changed = found.intersect_rows.count() - matching
    kinds = {"expected only": found.df1_unq_rows.count(), "changed": changed}
    return kinds | {"observed only": found.df2_unq_rows.count()}


OURS = {
    "judge, DuckDB engine": judged("duckdb"),
    "judge, PySpark engine": judged("spark"),
    "`exceptAll` both ways, counted": except_all,
}
THEIRS = {"datacompy `SparkSQLCompare`": datacompy}
FORMS = OURS | THEIRS


def turns_of(names: list[str], folders: list[str]) -> None:
    """Run the forms on each folder in turn, in one session, and print what each turn took."""
    turns = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as scratch, session(scratch) as spark:
        for folder in folders:
            for name in names:
                began = time.monotonic()
                found = FORMS[name](spark, f"{folder}/e.parquet", f"{folder}/o.parquet")
                turns[name].append({"s": time.monotonic() - began, "found": found})
    print(json.dumps(turns))


def best(python: str, names: list[str], folders: list[Path]) -> dict[str, dict]:
    """Return each form's fastest turn, without the first one, which warms up."""
    argv = [python, __file__, "--turns", json.dumps(names), *map(str, folders)]
    ran = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout
    turns = json.loads(ran.splitlines()[-1])
    return {name: min(of[1:], key=lambda one: one["s"]) for name, of in turns.items()}


@contextmanager
def environment():
    """Create a temporary environment with datacompy and our PySpark."""
    uv = Path(sys.executable).with_name("uv")
    with tempfile.TemporaryDirectory(prefix="onceproof-datacompy-") as folder:
        python = f"{folder}/bin/python"
        make = ["venv", "--quiet", "--allow-existing", "--python", sys.executable, folder]
        packages = ["datacompy", f"pyspark=={version('pyspark')}", "pandas"]
        for arguments in (make, ["pip", "install", "--quiet", "--python", python, *packages]):
            subprocess.run([uv, *arguments], check=True)
        asked = [python, "-c", "from importlib.metadata import version as v; print(v('datacompy'))"]
        yield python, subprocess.run(asked, check=True, capture_output=True, text=True).stdout


def measure(millions: float, datacompy_python: str) -> None:
    from diff_data import PLANTED, sides

    rows = int(millions * 1e6)
    with sides(rows) as folder:
        found = best(sys.executable, list(OURS), [folder] * TURNS)
        if datacompy_python:
            with sides(max(rows // 100, 10 * PLANTED)) as small:
                found |= best(datacompy_python, list(THEIRS), [small, folder])
    print(f"\n{millions:g} million rows a side, {PLANTED:,} of each difference planted\n")
    print("| On Spark | seconds | x DuckDB engine | x PySpark engine | found |")
    print("|---|---:|---:|---:|---|")
    duckdb, spark = (found[name]["s"] for name in list(OURS)[:2])
    for name, one in found.items():
        s = one["s"]
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in one["found"].items())
        print(f"| {name} | {s:.1f} | {s / duckdb:.1f} | {s / spark:.2f} | {kinds} |", flush=True)


def main(ours: float, theirs: float) -> None:
    with environment() as (python, newest):
        print(
            f"PySpark {version('pyspark')}, datacompy {newest.strip()}, DuckDB {version('duckdb')}"
        )
        measure(ours, python if ours == theirs else "")
        if ours != theirs:
            measure(theirs, python)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--turns"]:
        turns_of(json.loads(sys.argv[2]), sys.argv[3:])
    else:
        given = [float(one) for one in sys.argv[1:]] or [10.0]
        main(given[0], given[-1])
