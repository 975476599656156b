"""Random comparisons of nasty values, on both engines, against an oracle of plain Python.

An hour: every tenth case is one for Spark as well, and at the end some thousands of files hold NaN
and one other value. In the environment, `MINUTES` tries it small, `SEED` begins elsewhere, and
`SPARK_EACH` says which cases are for Spark too: each tenth, or with 0 none.
Cases run in a process of their own, which is started anew after a crash. To repeat one case:
`python -m tests.prove.fuzz_diff SEED`, with `spark` behind it for that engine.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter

from tests.repo.tree import ROOT
from tests.unit.comparison.cases import check
from tests.unit.comparison.sides import in_this_process

MINUTES, SEED, NAN_FILES_A_MINUTE, SPARK_EACH, AT_ONCE = 60, 1, 50, 10, 200


def prove() -> str:
    minutes = float(os.environ.get("MINUTES", MINUTES))
    first = int(os.environ.get("SEED", SEED))
    end = time.monotonic() + minutes * 60 * 0.95
    found: dict[str, Counter[str]] = {"duckdb": Counter(), "spark": Counter()}
    wrong: list[str] = []
    at = first
    while time.monotonic() < end:
        sys.stderr.write(f"seeds {at} to {at + AT_ONCE - 1}\n")
        at = _some(at, at + AT_ONCE, end, found, wrong)
    files = max(50, int(NAN_FILES_A_MINUTE * minutes))
    return "\n".join([*_table(found, first, at, wrong), "", _nan_files(files), "", *wrong])


def _some(
    at: int, behind: int, end: float, found: dict[str, Counter[str]], wrong: list[str]
) -> int:
    """Run cases in one process; return the seed after the last."""
    command = [
        sys.executable,
        "-m",
        __name__ if __name__ != "__main__" else "tests.prove.fuzz_diff",
    ]
    command += ["--worker", str(at), str(behind)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as worker:
        for line in worker.stdout or ():
            message = json.loads(line)
            if message["became"] == "began":
                at = message["seed"]
                continue
            found[message["engine"]][message["became"]] += 1
            if message["became"] == "wrong":
                wrong.append(f"- {message['said']}")
                sys.stderr.write(f"{message['said']}\n")
            if time.monotonic() > end:
                worker.terminate()
                return at + 1
    if worker.returncode:
        how = signal.Signals(-worker.returncode).name if worker.returncode < 0 else "an error"
        wrong.append(f"- seed {at}: the process ended by {how}")
        found["duckdb"]["wrong"] += 1
        sys.stderr.write(f"{wrong[-1]}\n")
        return at + 1
    return behind


def _table(found: dict[str, Counter[str]], first: int, behind: int, wrong: list[str]) -> list[str]:
    lines = [
        f"Seeds {first} to {behind - 1}; {len(wrong)} wrong.",
        "",
        "| engine | cases | compared | refused, as planted | wrong |",
        "|---|---|---|---|---|",
    ]
    for engine, of in found.items():
        cells = (of[one] for one in ("compared", "refused", "wrong"))
        lines.append(f"| {engine} | {sum(of.values()):,} | {' | '.join(f'{n:,}' for n in cells)} |")
    return lines


def _nan_files(count: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.unit.comparison.nan_files", str(count), "2", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    ended = "none was wrong, and the process ended well"
    if done.returncode:
        ended = f"the process ended with {done.returncode}: {done.stderr.strip()[-500:]}"
    return f"{count:,} files of NaN and one other value, each compared twice: {ended}."


class _Patch:
    setattr = staticmethod(setattr)


def _work(first: int, behind: int) -> None:
    """Check these cases, and print a line before and after each."""
    in_this_process(_Patch)
    spark, each = None, int(os.environ.get("SPARK_EACH", SPARK_EACH))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, behind):
            _print(became="began", seed=seed)
            _one(seed, folder, "duckdb")
            if each and not seed % each:
                spark = spark or _session()
                _one(seed, folder, "spark", spark=spark)
    if spark:
        spark.stop()


def _one(seed: int, folder: str, engine: str, **options: object) -> None:
    try:
        _print(became=check(seed, f"{folder}/{engine}", engine=engine, **options), engine=engine)
    except AssertionError as error:
        _print(became="wrong", engine=engine, said=str(error).splitlines()[0])
    except Exception:
        said = f"seed {seed}, {engine}: {traceback.format_exc()}"
        _print(became="wrong", engine=engine, said=" / ".join(said.splitlines()))


def _session() -> object:
    from pyspark.sql import SparkSession

    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "Asia/Tokyo")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    return made


def _print(**fields: object) -> None:
    print(json.dumps(fields), flush=True)  # noqa: T201


def main(arguments: list[str]) -> None:
    """Plan off seeds for `prove`, or repeat one case."""
    if arguments[:1] == ["--worker"]:
        _work(int(arguments[1]), int(arguments[2]))
        return
    in_this_process(_Patch)
    options = {"engine": "spark", "spark": _session()} if "spark" in arguments else {}
    with tempfile.TemporaryDirectory() as folder:
        print(check(int(arguments[0]), folder, **options))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
