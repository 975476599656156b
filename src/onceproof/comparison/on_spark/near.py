"""The pairing of a key's rows whose numbers may differ by a tolerance, on Spark.

The rule is that of DuckDB: rows are grouped into cells, and the rows of a chain are paired one to
one in the order of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from onceproof.comparison.columns import Near, Pair
from onceproof.comparison.on_spark.buckets import SIDES

_LISTS = {"a": ("ours", SIDES["expected"]), "z": ("theirs", SIDES["observed"])}


def stepped(rows: Any, exact: Sequence[str], near: Near) -> Any:
    """Number the near values: a step begins if the previous value is beyond the tolerance.

    NULL and NaN are near only themselves. Equal values have no order, so the sum includes all of
    them (a frame by range, SQL's default).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    within = list(exact)
    for name, pair in near:
        value = F.col(name)
        like = F.when(value.isNull(), 0)
        if pair.kind.name == "floating":
            value = value.cast("double")
            like = like.when(F.isnan(value), 1)
        elif pair.kind.name == "integer":
            value = value.cast("decimal(20,0)")
        wide = F.col(f"{name}_wide")
        rows = rows.withColumns({f"{name}_like": like.otherwise(2), f"{name}_wide": value})
        within.append(f"{name}_like")
        over = Window.partitionBy(*within).orderBy(wide)
        is_near = _is_near(wide, F.lag(wide).over(over), pair)
        jump = F.when(is_near | wide.isNull(), 0).otherwise(1)
        rows = rows.withColumn(f"{name}_jump", jump)
        rows = rows.withColumn(f"{name}_step", F.sum(f"{name}_jump").over(over))
        within.append(f"{name}_step")
    return rows


def cell(near: Near, over: Any = None) -> dict[str, Any]:
    """Return the columns of a cell that pairing its rows needs: aggregates, or windows `over` it.

    `a` and `z` are its rows of either side; with near columns, `ours` and `theirs` are the values
    of those rows, and `far_` is true for a column that is a chain.
    """
    from pyspark.sql import functions as F

    values = F.struct(*(F.col(f"{name}_wide").alias(name) for name, _ in near))
    parts, ends = {}, {}
    for count, (listed, w) in _LISTS.items():
        parts[count] = F.count(F.when(F.col("w") == w, 1))
        if near:
            parts[listed] = F.collect_list(F.when(F.col("w") == w, values))
    for name, pair in near:
        largest, smallest = F.max(f"{name}_wide"), F.min(f"{name}_wide")
        if over is not None:
            largest, smallest = largest.over(over), smallest.over(over)
        ends[f"far_{name}"] = F.coalesce(~_is_near(largest, smallest, pair), F.lit(False))
    if over is not None:
        parts = {name: part.over(over) for name, part in parts.items()}
    return parts | ends


def paired(near: Near) -> Any:
    """Return the number of a cell's rows with an equal row on the other side."""
    from pyspark.sql import functions as F

    fewer = F.least("a", "z")
    if not near:
        return fewer
    is_chain = reduce(lambda one, other: one | other, (F.col(f"far_{name}") for name, _ in near))
    one = F.lit(1)
    lower = _pairs(near, fewer, {"a": one, "z": one})
    upper = _pairs(near, fewer, {count: F.col(count) - fewer + 1 for count in _LISTS})
    return F.when((fewer > 0) & is_chain, F.greatest(lower, upper)).otherwise(fewer)


def _pairs(near: Near, fewer: Any, starts: dict[str, Any]) -> Any:
    """Return the number of near pairs of the sides, in order from these places.

    Rows are ordered by the columns that are a chain: in other columns all of them are near.
    """
    from pyspark.sql import functions as F

    def in_order(row: Any) -> Any:
        order = (F.when(F.col(f"far_{name}"), row[name]).alias(f"o_{name}") for name, _ in near)
        return F.struct(*order, row.alias("r"))

    def are_near(one: Any, other: Any) -> Any:
        pairs = ((one["r"][name], other["r"][name], pair) for name, pair in near)
        return reduce(
            lambda all_are, each: all_are & each,
            (x.eqNullSafe(y) | _is_near(F.greatest(x, y), F.least(x, y), p) for x, y, p in pairs),
        )

    parts = (
        F.slice(F.array_sort(F.transform(listed, in_order)), starts[count].cast("int"), fewer)
        for count, (listed, _) in _LISTS.items()
    )
    return F.size(F.filter(F.zip_with(*parts, are_near), lambda is_near: is_near)).cast("bigint")


def _is_near(larger: Any, smaller: Any, pair: Pair) -> Any:
    return (larger == smaller) | ((larger - smaller).cast("double") <= pair.tolerance)
