"""Cases of two sides of nasty values, each known by its seed, and what a person would say of them.

Every case is below a folder `c0=5`, which names its first column and must not touch it. One in
eight has something planted in it that must be refused.
"""

import gzip
import shutil
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from onceproof.comparison import compare
from onceproof.errors import RequestError
from tests.unit.comparison.nasty import KINDS, array, csv_cell, json_cell, spelled
from tests.unit.comparison.oracle import CLASSES, differences

FORMATS = ("parquet", "parquet", "parquet", "csv", "jsonl")
FOLDERS = ([1, 2, 3], ["a", "b c", "d/e"], [None, 7])
TIMED = ("timestamp", "seconds", "nanoseconds", "instant", "int96")


@dataclass(frozen=True)
class Case:
    """Two places to compare; `truth` are the counts of each class, None where it is refused."""

    seed: int
    expected: Path
    observed: Path
    key: list
    truth: dict | None
    about: str


class Maker:
    """Makes the case of one seed; `for_spark` keeps to what both engines read."""

    def __init__(self, seed, folder, *, for_spark=False):
        self.seed, self.rng = seed, Random(seed)
        self.for_spark = for_spark
        self.folder = Path(folder, f"case-{seed}", "c0=5")
        self.folder.mkdir(parents=True)

    def make(self):
        rng = self.rng
        self.kinds = self._kinds()
        self.pools = {
            name: rng.sample(KINDS[kind].values, rng.randint(1, len(KINDS[kind].values)))
            for name, kind in self.kinds.items()
        }
        self.day = rng.choice(FOLDERS) if rng.random() < 0.3 else None
        names = [*self.kinds, *(["day"] if self.day else [])]
        expected = [self._row() for _ in range(self._size())]
        observed = self._spoiled(expected)
        formats = self._formats(bool(expected), bool(observed))
        key = rng.sample(names, rng.randint(0, len(names)))
        sides = {"expected": expected, "observed": observed}
        for (side, rows), form in zip(sides.items(), formats, strict=True):
            self._write(side, rows, form)
        planted = self._plant(formats) if rng.random() < 0.125 else None
        truth = None if planted else self._truth(sides, formats, key, names)
        about = f"{self.kinds}, day {self.day}, {formats}, {len(expected)} rows, key {key}"
        about += f", planted {planted}" if planted else ""
        return Case(
            self.seed, self.folder / "expected", self.folder / "observed", key, truth, about
        )

    def _kinds(self):
        known = [name for name, one in KINDS.items() if one.spark or not self.for_spark]
        drawn = [self.rng.choice(known) for _ in range(self.rng.randint(1, 4))]
        if "int96" in drawn:  # it is a setting of the file, of all of its times
            drawn = [one for one in drawn if one == "int96" or one not in TIMED]
        return {f"c{number}": kind for number, kind in enumerate(drawn)}

    def _size(self):
        return self.rng.choice([0, 1, 2, 5, 20, 20, 60, 60, 200, self.rng.randint(2000, 3000)])

    def _row(self):
        row = {name: self.rng.choice(pool) for name, pool in self.pools.items()}
        return row | ({"day": self.rng.choice(self.day)} if self.day else {})

    def _spoiled(self, expected):
        rng, rows = self.rng, [dict(one) for one in expected]
        for _ in range(rng.choice([0, 1, 3, 10])):
            kind = rng.choice(["lose", "repeat", "add", "change"])
            if kind == "add" or not rows:
                rows.append(self._row())
            elif kind == "lose":
                rows.pop(rng.randrange(len(rows)))
            elif kind == "repeat":
                rows.append(dict(rng.choice(rows)))
            else:
                name = rng.choice(list(self.kinds))
                rng.choice(rows)[name] = rng.choice(KINDS[self.kinds[name]].values)
        rng.shuffle(rows)
        return rows

    def _formats(self, *have_rows):
        """Two formats that can say these kinds, one beside the other."""
        if self.for_spark:
            return ["parquet", "parquet"]
        kinds = [KINDS[kind] for kind in self.kinds.values()]
        while True:
            drawn = [self.rng.choice(FORMATS) for _ in range(2)]
            if "csv" in drawn and (len(kinds) < 2 or not all(one.text for one in kinds)):
                continue
            if "jsonl" in drawn and not all(one.json for one in kinds):
                continue
            is_typed = "parquet" in drawn or drawn == ["csv", "csv"]
            if not is_typed and not (all(one.bare for one in kinds) and any(have_rows)):
                continue
            if not is_typed and self.day and "csv" in drawn:
                continue  # a folder's number is text to CSV and a number to JSON
            return drawn

    def _truth(self, sides, formats, key, names):
        frames = []
        for rows in sides.values():
            columns = {name: [self._said(name, row, formats) for row in rows] for name in names}
            frames.append(
                pd.DataFrame({n: pd.Series(of, dtype=object) for n, of in columns.items()})
            )
        found = differences(*frames, key or names)
        return {one: sum(of[one] for of in found.values()) for one in CLASSES}

    def _said(self, name, row, formats):
        """A row's value as it is compared: two CSV sides are text."""
        value = row[name]
        if formats == ["csv", "csv"] and value is not None:
            return str(value) if name == "day" else spelled(self.kinds[name], value)
        return value

    def _write(self, side, rows, form):
        """Write a side as files, in folders of its day or with that as a column."""
        rng = self.rng
        in_folders = self.day and rng.random() < 0.7
        groups = [(None, rows)]
        if in_folders:
            known = self.day if not rows else sorted({row["day"] for row in rows}, key=str)
            groups = [(day, [row for row in rows if row["day"] == day]) for day in known]
        native = {name: rng.choice(KINDS[kind].types) for name, kind in self.kinds.items()}
        self.options = {
            "use_deprecated_int96_timestamps": "int96" in self.kinds.values()
            and rng.random() < 0.7,
            "use_dictionary": rng.random() < 0.5,
            "compression": rng.choice(["none", "snappy", "zstd"]),
            "row_group_size": rng.choice([1, 7, 100_000]) if len(rows) < 300 else 1000,
        }
        for day, some in groups:
            place = self.folder / side
            if in_folders:
                said = "__HIVE_DEFAULT_PARTITION__" if day is None else str(day).replace("/", "%2F")
                place /= f"day={said}"
            elif rng.random() < 0.3:
                place /= "below"
            place.mkdir(parents=True)
            cuts = sorted(rng.randint(0, len(some)) for _ in range(rng.choice([0, 0, 1, 2])))
            for number, (low, high) in enumerate(zip([0, *cuts], [*cuts, len(some)], strict=True)):
                has_day = bool(self.day) and not in_folders
                self._write_file(place / f"part-{number}", form, some[low:high], native, has_day)

    def _write_file(self, path, form, rows, native, has_day):
        names = [*self.kinds, *(["day"] if has_day else [])]
        if form == "parquet":
            columns = {
                name: array(kind, [row[name] for row in rows], native[name])
                for name, kind in self.kinds.items()
            }
            if has_day:
                kind = pa.string() if "a" in self.day else pa.int64()
                columns["day"] = pa.array([row["day"] for row in rows], kind)
            ending = self.rng.choice([".parquet", ".snappy.parquet", ".PARQUET"])
            pq.write_table(pa.table(columns), path.with_name(path.name + ending), **self.options)
            return
        days = "text" if self.day and "a" in self.day else "integer"
        kinds = [*self.kinds.values(), *([days] if has_day else [])]
        if form == "csv":
            lines = [",".join(names)]
            lines += [",".join(map(csv_cell, kinds, [row[name] for name in names])) for row in rows]
        else:
            lines = [_json_line(names, kinds, row) for row in rows]
        text = "".join(f"{line}\n" for line in lines)
        if self.rng.random() < 0.3:
            with gzip.open(
                path.with_name(f"{path.name}.{form}.gz"), "wt", encoding="utf-8"
            ) as file:
                file.write(text)
        else:
            path.with_name(f"{path.name}.{form}").write_text(text, encoding="utf-8")

    def _plant(self, formats):
        """Plant what must be refused; return its name."""
        side = self.rng.choice(["expected", "observed"])
        files = sorted(one for one in (self.folder / side).rglob("part-*"))
        kind = self.rng.choice(["other file", "no ending", "packed", "shadow", "decimal", "other"])
        if kind == "shadow" and not self.day:
            shutil.move(self.folder / side, self.folder / "moved")
            shutil.move(self.folder / "moved", self.folder / side / "C0=1")
        elif kind == "decimal" and formats == ["parquet", "parquet"]:
            for path in (self.folder / "expected", self.folder / "observed"):
                for one in path.rglob("part-*"):
                    table = pq.ParquetFile(one).read()
                    cells = pa.array([Decimal("1" * 50)] * len(table), pa.decimal256(60, 0))
                    pq.write_table(table.append_column("planted", cells), one)
        elif kind == "other" and formats == ["parquet", "parquet"]:
            table = pq.ParquetFile(files[0]).read()
            more = table.append_column("planted", pa.nulls(len(table), pa.int64()))
            pq.write_table(more, files[0].with_name("part-9.parquet"))
        elif kind == "packed":
            files[0].with_name("part-8.csv.bz2").write_bytes(b"BZh")
        elif kind == "no ending":
            shutil.copy(files[0], files[0].with_name("part-8"))
        else:
            kind = "other file"
            files[0].with_name("notes.txt").write_text("not data")
        return kind


def _json_line(names, kinds, row):
    cells = (
        f'"{name}": {json_cell(kind, row[name])}' for name, kind in zip(names, kinds, strict=True)
    )
    return f"{{{', '.join(cells)}}}"


def check(seed, folder, **options):
    """Compare one case: "compared" or "refused", or an `AssertionError` that names the seed."""
    case = Maker(seed, folder, for_spark=options.get("engine") == "spark").make()
    try:
        found = compare(case.expected, case.observed, key=case.key, samples=1, **options)
        said = dict(found.counts)
    except RequestError as error:
        said = None
        case = Case(**{**vars(case), "about": f"{case.about}: {error}"})
    assert said == case.truth, (
        f"seed {seed}, {options.get('engine', 'duckdb')}: {said}, and the truth is {case.truth}: "
        f"{case.about}"
    )
    shutil.rmtree(case.expected.parents[1])
    return "refused" if said is None else "compared"


def tally(seeds, folder, **options):
    """Check cases, and count what became of them."""
    return Counter(check(seed, folder, **options) for seed in seeds)
