"""The pairing of a key's rows whose numbers may differ by a tolerance, on DuckDB.

Rows are grouped into cells; rows of different cells are never near. In most cells all values are
near each other: any two rows can be paired. In a chain, whose ends are farther apart than the
tolerance, rows are paired one to one in the order of their values, from the lower or the upper end,
whichever gives more pairs, and a pair counts only if its rows are near. So only near rows are
paired; if one column is a chain, all rows are paired that can be.
"""

from __future__ import annotations

from collections.abc import Sequence

from onceproof.comparison.columns import Near, Pair


def stepped(rows: str, exact: Sequence[str], near: Near) -> str:
    """Number the near values: a step begins if the previous value is beyond the tolerance.

    NULL and NaN are near only themselves. Equal values have no order, so the sum includes all of
    them (a frame by range, SQL's default).
    """
    within = list(exact)
    for name, pair in near:
        value = f"{name}::double" if pair.kind.name == "floating" else name
        wide = f"{name}::hugeint" if pair.kind.name == "integer" else value
        nan = f"when isnan({value}) then 1 " if pair.kind.name == "floating" else ""
        like, step = f"{name}_like", f"{name}_step"
        rows = (
            f"(select *, case when {name} is null then 0 {nan}else 2 end as {like}, "
            f"{wide} as {name}_wide from {rows})"
        )
        within.append(like)
        over = f"over (partition by {', '.join(within)} order by {name}_wide"
        before = f"lag({name}_wide) {over})"
        near_it = _is_near(f"{name}_wide", before, pair)
        rows = (
            f"(select *, sum(jump) {over}) as {step} from (select *, "
            f"case when {near_it} or {name} is null then 0 else 1 end as jump from {rows}))"
        )
        rows = f"(select * exclude (jump) from {rows})"
        within.append(step)
    return rows


def cell(near: Near, over: str = "") -> str:
    """Return the columns of a cell, as aggregates or windows.

    `a` and `z` are its rows of either side, `far_` is true for a near column that is a chain.
    """
    parts = [f"count(*) filter (w = 1) {over} as a", f"count(*) filter (w = -1) {over} as z"]
    for name, pair in near:
        ends = f"max({name}_wide) {over}", f"min({name}_wide) {over}"
        parts.append(f"coalesce(not ({_is_near(*ends, pair)}), false) as far_{name}")
    return ", ".join(parts)


def near_values(near: Near, over: str = "") -> str:
    """Return the near values, which pairing the rows of a chain needs beside `cell`."""
    values = ", ".join(f"'{name}': {name}_wide" for name, _ in near)
    sides = (("ours", 1), ("theirs", -1))
    lists = (f"list({{{values}}}) filter (w = {w}) {over} as {side}" for side, w in sides)
    return "".join(f", {one}" for one in lists if near)


def is_chain(near: Near) -> str:
    """Return the SQL of whether the rows of a cell must be paired one by one."""
    if not near:
        return "false"
    return f"least(a, z) > 0 and ({' or '.join(f'far_{name}' for name, _ in near)})"


def paired(near: Near) -> str:
    """Return the number of a cell's rows with an equal row on the other side."""
    fewer = "least(a, z)"
    if not near:
        return fewer
    lower = _pairs(near, f"[1:{fewer}]", f"[1:{fewer}]")
    upper = _pairs(near, f"[a - {fewer} + 1:a]", f"[z - {fewer} + 1:z]")
    return f"case when {is_chain(near)} then greatest({lower}, {upper}) else {fewer} end"


def _pairs(near: Near, ours: str, theirs: str) -> str:
    """Return the number of near pairs of these parts of the sides, in order.

    Rows are ordered by the columns that are a chain: in other columns all of them are near.
    """
    order = ", ".join(f"'o_{name}': case when far_{name} then r.{name} end" for name, _ in near)
    sides = (
        f"list_sort(list_transform({side}, lambda r: {{{order}, 'r': r}})){part}"
        for side, part in (("ours", ours), ("theirs", theirs))
    )
    are_near = " and ".join(
        f"(x[1].r.{name} is not distinct from x[2].r.{name} or "
        f"abs(x[1].r.{name} - x[2].r.{name})::double <= {pair.tolerance!r})"
        for name, pair in near
    )
    return f"len(list_filter(list_zip({', '.join(sides)}), lambda x: {are_near}))"


def _is_near(larger: str, smaller: str, pair: Pair) -> str:
    return f"{larger} = {smaller} or ({larger} - {smaller})::double <= {pair.tolerance!r}"
