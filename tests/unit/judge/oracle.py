"""The comparison as a person would do it: pandas, one key after another, nothing hashed."""

import math
from collections import Counter

CLASSES = ("lost", "duplicated", "unexpected", "changed")


def plain(value):
    """A value that is equal to exactly what the judge holds it equal to."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ("none" if value is None else "nan",)
    if isinstance(value, dict):
        return tuple(sorted((name, plain(held)) for name, held in value.items()))
    if isinstance(value, list | tuple):
        return tuple(plain(held) for held in value)
    return (value + 0.0,) if isinstance(value, float) else (value,)


def differences(expected, observed, key):
    """Counts of each class by key; sides are DataFrames of objects."""
    names = list(expected.columns)
    rows = []
    for frame in (expected, observed):
        grouped = {}
        for row in frame[names].itertuples(index=False, name=None):
            values = dict(zip(names, map(plain, row), strict=True))
            rest = tuple(values[name] for name in names if name not in key)
            grouped.setdefault(tuple(values[name] for name in key), []).append(rest)
        rows.append(grouped)
    found = {}
    for one in rows[0].keys() | rows[1].keys():
        ours, theirs = Counter(rows[0].get(one, ())), Counter(rows[1].get(one, ()))
        e, o, same = ours.total(), theirs.total(), (ours & theirs).total()
        counts = (
            max(e - o, 0),
            max(o - e, 0) if e else 0,
            0 if e else o,
            min(e, o) - same,
        )
        if any(counts):
            found[one] = dict(zip(CLASSES, counts, strict=True))
    return found
