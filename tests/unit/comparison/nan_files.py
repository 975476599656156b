"""Files of a float column that holds NaN and one other value: they made DuckDB write out of bounds.

Run as a program, `nan_files COUNT SEED FOLDER`, in a process of its own: a heap that is damaged
shows anywhere later, or not at all.
"""

import sys
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from onceproof.comparison import compare
from onceproof.database import open_database, read_parquet
from tests.unit.comparison.sides import in_this_process

OTHERS = [1.0, 2.0, 0.5, 3.25, 1e9, 0.0, -1.0, float("inf")]


class _Patch:
    setattr = staticmethod(setattr)


def main(count, seed, folder):
    in_this_process(_Patch)
    rng = Random(seed)
    for _ in range(count):
        one(rng, Path(folder))
    print(count)  # noqa: T201


def one(rng, folder):
    """Compare a file with itself, and with one of which rows of NaN are lost."""
    size, lost = rng.choice([4, 10, 100, 3000, 9000]), rng.choice([1, 2])
    kind = rng.choice([pa.float64(), pa.float32()])
    values = [rng.choice(OTHERS)] * (size // 2) + [float("nan")] * (size - size // 2)
    rng.shuffle(values)
    fewer = list(values)
    for _ in range(lost):
        fewer.remove(next(value for value in fewer if value != value))
    for name, cells in (("e", values), ("o", fewer)):
        pq.write_table(pa.table({"k": pa.array(cells, kind)}), folder / f"{name}.parquet")
    key = rng.choice([[], ["k"]])
    sides = folder / "e.parquet", folder / "o.parquet"
    assert compare(*sides, key=key).counts["lost"] == lost
    assert compare(sides[0], sides[0], key=key).equal
    with open_database() as database:
        source = read_parquet(sides[:1])
        rows = database.sql(f"select hash(k) as h, count(*) as n from {source} group by h")  # noqa: S608
        assert sorted(n for _, n in rows.fetchall()) == [size // 2, size - size // 2]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
