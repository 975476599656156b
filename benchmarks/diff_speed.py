"""Cost of a comparison on one machine, beside hashing every row once and one big aggregate.

Arguments: millions of rows a side (default: 10), several to measure growth. Each turn is a separate
process, so that its peak memory is measured alone; turns are interleaved, and the fastest of three
counts. Time starts at the call, with libraries loaded. The memory is that of the largest process,
since the judge's engine runs in its own.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow.parquet  # noqa: F401  (loaded before the clock starts)

from onceproof import database
from onceproof.comparison import compare
from onceproof.comparison.columns import Request
from onceproof.comparison.comparing import size_of
from onceproof.comparison.on_duckdb.engine import compare_on_duckdb

sys.path.insert(0, __file__.rpartition("/")[0])
from diff_data import COLUMNS, PLANTED, sides

TURNS = 3
MEMORY = "1GB"


def floor(folder: str) -> object:
    """Hash every row of both sides once, and nothing else."""
    each = (f"select hash({COLUMNS}) as h from '{folder}/{name}.parquet'" for name in "eo")
    return bool(duckdb.sql(f"select bit_xor(h) from ({' union all '.join(each)})").fetchall())


# The sums of an aggregate over a key's rows, where w is 1 on one side and -1 on the other. The
# first was used before there were buckets; the second is the quickest form; the third gives the
# judge's guarantee.
WIDE = ("sum(case when w = 1 then h::hugeint else -h::hugeint end)",)
ONE = ("sum(w * (h >> 1)::bigint)",)
TWO = (*ONE, "sum(w * (g >> 1)::bigint)")


def one_aggregate(sums: tuple[str, ...], memory: str, key: str = "id"):
    """Group all rows of both sides by key at once, with these sums of their hashes."""
    second = ", hash(7, ts, 'abcd' || item, amount, v, k) as g" if sums == TWO else ""
    named = "".join(f", {one} as d{number}" for number, one in enumerate(sums))
    differs = "".join(f" or d{number} <> 0" for number in range(len(sums)))

    def run(folder: str) -> object:
        each = (
            f"select {key}, hash(k, v, amount, item, ts) as h{second}, {w} as w "
            f"from '{folder}/{name}.parquet'"
            for name, w in (("e", 1), ("o", -1))
        )
        with duckdb.connect(config={"memory_limit": memory}) as connection:
            connection.execute("set preserve_insertion_order = false")
            connection.execute(f"set temp_directory = '{folder}/spilled'")
            found = connection.execute(
                "select case when e = 0 then 'unexpected' when o < e then 'lost' when o > e then "
                "'duplicated' else 'changed' end, count(*) from (select count(*) filter (w = 1) as "
                f"e, count(*) filter (w = -1) as o{named} from ({' union all '.join(each)}) "
                f"group by {key}) where e <> o{differs} group by 1"
            ).fetchall()
        return dict(sorted(found))

    return run


def judged(other: str, memory: str = MEMORY, key: str = "id"):
    def run(folder: str) -> object:
        found = compare(
            f"{folder}/e.parquet", f"{folder}/{other}.parquet", key=key.split(", "), memory=memory
        )
        return dict(sorted(found.counts.items()))

    return run


def engine(other: str, *, is_safe: bool):
    """Compare in this process, with or without the optimizer that is wrong about NaN."""

    def run(folder: str) -> object:
        if not is_safe:
            del database._SAFE["disabled_optimizers"]
        sides = f"{folder}/e.parquet", f"{folder}/{other}.parquet"
        with tempfile.TemporaryDirectory() as scratch:
            request, size = Request(("id",)), size_of(MEMORY)
            _, found = compare_on_duckdb(*sides, request, size, 5, Path(scratch), lambda _: None)
        return dict(sorted(found.counts.items()))

    return run


FORMS = {
    "the floor: each row hashed once": floor,
    "judge, 4,000 differences": judged("o"),
    "judge, 4,000 differences, 400MB": judged("o", "400MB"),
    "judge, equal sides": judged("same"),
    "engine in this process, 4,000 differences": engine("o", is_safe=True),
    "that, with statistics_propagation (unsafe)": engine("o", is_safe=False),
    "engine in this process, equal sides": engine("same", is_safe=True),
    "that, with statistics_propagation (unsafe), equal": engine("same", is_safe=False),
    "judge, every row changed": judged("all"),
    "judge, every row changed, 400MB": judged("all", "400MB"),
    "one aggregate, one hash, wide": one_aggregate(WIDE, MEMORY),
    "one aggregate, one hash": one_aggregate(ONE, MEMORY),
    "one aggregate, two hashes": one_aggregate(TWO, MEMORY),
    "judge, key of text and number": judged("o", key="item, id"),
    "one aggregate, that key, two hashes": one_aggregate(TWO, MEMORY, "item, id"),
    "one aggregate, two hashes, 400MB": one_aggregate(TWO, "400MB"),
}
SLOW = [name for name in FORMS if "every row" in name]


def one(form: str, folder: str) -> None:
    began = time.monotonic()
    found = FORMS[form](folder)
    seconds = time.monotonic() - began
    own = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])
    peak = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) >> 10
    print(json.dumps({"s": seconds, "MB": peak, "found": found}))


def turn(form: str, folder: object) -> dict:
    argv = [sys.executable, __file__, "--one", form, str(folder)]
    return json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(millions: float) -> None:
    rows = int(millions * 1e6)
    with sides(rows) as folder:
        turns = {form: [] for form in FORMS}
        for number in range(TURNS):
            for form in FORMS:
                if not (number and form in SLOW):
                    turns[form].append(turn(form, folder))
    best = {form: min(of, key=lambda one: one["s"]) for form, of in turns.items()}
    base = best["the floor: each row hashed once"]["s"]
    print(f"\n{millions:g} million rows a side, {PLANTED:,} of each difference planted\n")
    print("| On one machine | seconds | x floor | peak MB | found |\n|---|---:|---:|---:|---|")
    for form, of in best.items():
        peak = max(turn["MB"] for turn in turns[form])
        found = of["found"] if isinstance(of["found"], dict) else {}
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.items() if count)
        print(f"| {form} | {of['s']:.2f} | {of['s'] / base:.2f} | {peak:,} | {kinds} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    else:
        for given in sys.argv[1:] or ["10"]:
            measure(float(given))
