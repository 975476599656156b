"""Step one on Spark: the fingerprints of both sides by bucket, and the rows of those that differ.

Each task sums up its own rows, so that the shuffle moves a few numbers per bucket, not the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from onceproof.comparison.columns import Pair, Plan
from onceproof.comparison.on_spark.kinds import bucket_hash, canonical, row_hashes

BUCKET_BITS = 16
_WORD_BITS = 32
SIDES = {"expected": 1, "observed": -1}


@dataclass(frozen=True)
class Fingerprints:
    """The number of rows of each side, the differing buckets, and their number of rows."""

    expected: int
    observed: int
    in_question: int
    differing: list[int]


class Buckets:
    """Both sides as the steps read them, row by row, each with its bucket.

    `c0`, `c1` ... are the compared columns in their canonical form, `w` is the side, `b` the
    bucket; `expected` or `observed` is the original row.
    """

    def __init__(self, expected: Any, observed: Any, plan: Plan) -> None:
        self.plan = plan
        self.pairs = (*plan.key, *plan.exact, *plan.near)
        self.exact = self._named(plan.exact, len(plan.key))
        self.near = self._named(plan.near, len(plan.key) + len(plan.exact))
        self.both = self._read(expected, "expected").unionByName(
            self._read(observed, "observed"), allowMissingColumns=True
        )

    def fingerprints(self) -> Fingerprints:
        """Count and sum up the rows of every bucket.

        A hash is summed in halves of 32 bits, so that the sum cannot overflow.
        """
        from pyspark.sql import functions as F

        hashes = row_hashes(self._named(self.pairs, 0))
        rows = self.both.select("w", "b", *(one.alias(f"h{i}") for i, one in enumerate(hashes)))
        halves = (
            half
            for i in range(len(hashes))
            for half in (F.shiftright(f"h{i}", 32), F.col(f"h{i}").bitwiseAND(0xFFFFFFFF))
        )
        sums = [F.sum(F.col("w") * half).alias(f"s{i}") for i, half in enumerate(halves)]
        e, o = (F.count(F.when(F.col("w") == w, 1)).alias(side[0]) for side, w in SIDES.items())
        differs = F.expr(" or ".join(["e <> o", *(f"s{i} <> 0" for i in range(len(sums)))]))
        of_all = rows.groupBy("b").agg(e, o, *sums).withColumn("differs", differs)
        expected, observed, in_question, differing = of_all.agg(
            F.sum("e"),
            F.sum("o"),
            F.sum(F.when(F.col("differs"), F.expr("e + o"))),
            F.collect_list(F.when(F.col("differs"), F.col("b"))),
        ).first()
        return Fingerprints(expected or 0, observed or 0, in_question or 0, differing)

    def rows(self, buckets: Iterable[int]) -> Any:
        """Return the rows of these buckets: key, hashes of exact values, near ones, the row."""
        first, second = row_hashes(self.exact)
        return self.both.where(_is_in(buckets)).select(
            "w",
            *(f"c{i}" for i in range(len(self.plan.key))),
            first.alias("h1"),
            second.alias("h2"),
            *(name for name, _ in self.near),
            *SIDES,
        )

    def _named(self, pairs: tuple[Pair, ...], start: int) -> list[tuple[str, Any]]:
        return [(f"c{start + i}", pair.kind) for i, pair in enumerate(pairs)]

    def _read(self, frame: Any, side: str) -> Any:
        from pyspark.sql import functions as F

        row = F.struct(*(frame[_escaped(name)].alias(name) for name in frame.columns))
        columns = (canonical(frame[_escaped(pair.name)], pair.kind) for pair in self.pairs)
        rows = frame.select(*(one.alias(f"c{i}") for i, one in enumerate(columns)), row.alias(side))
        bucket = bucket_hash(self._named(self.plan.key, 0), BUCKET_BITS)
        return rows.select("*", bucket.alias("b"), F.lit(SIDES[side]).alias("w"))


def _is_in(buckets: Iterable[int]) -> Any:
    """Return the condition that a row's bucket is one of these: a bit of a constant."""
    from pyspark.sql import functions as F

    words = [0] * ((1 << BUCKET_BITS) // _WORD_BITS)
    for bucket in buckets:
        words[bucket // _WORD_BITS] |= 1 << bucket % _WORD_BITS
    of_all = F.split(F.lit(" ".join(map(str, words))), " ").cast("array<bigint>")
    word = F.get(of_all, F.shiftright("b", _WORD_BITS.bit_length() - 1))
    return F.getbit(word, F.col("b").bitwiseAND(_WORD_BITS - 1)) == 1


def _escaped(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
