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


def is_near(one, other, allowed):
    """Whether two values are as near as is allowed; by what is left out of it they are equal."""
    if plain(one) == plain(other):
        return True
    if None in (one, other) or one != one or other != other:
        return False
    return float(abs(one - other)) <= allowed


def most_pairs(ours, theirs, are_near):
    """How many rows of both sides can be paired, each with one at most: by augmenting paths."""
    mates = {}

    def finds_a_mate(row, seen):
        for at, other in enumerate(theirs):
            if at in seen or not are_near(ours[row], other):
                continue
            seen.add(at)
            if at not in mates or finds_a_mate(mates[at], seen):
                mates[at] = row
                return True
        return False

    return sum(finds_a_mate(row, set()) for row in range(len(ours)))


def differences(expected, observed, key, tolerance=None):
    """Counts of each class by key; sides are DataFrames of objects."""
    near = tolerance or {}
    names = list(expected.columns)
    exact = [name for name in names if name not in key and name not in near]
    sides = []
    for frame in (expected, observed):
        grouped = {}
        for row in frame.itertuples(index=False, name=None):
            values = dict(zip(names, row, strict=True))
            rest = tuple(plain(values[name]) for name in exact)
            held = rest, [values[name] for name in near]
            grouped.setdefault(tuple(plain(values[name]) for name in key), []).append(held)
        sides.append(grouped)

    def are_near(one, other):
        pairs = zip(one[1], other[1], near.values(), strict=True)
        return one[0] == other[0] and all(is_near(*pair) for pair in pairs)

    found = {}
    for one in sides[0].keys() | sides[1].keys():
        ours, theirs = sides[0].get(one, []), sides[1].get(one, [])
        e, o = len(ours), len(theirs)
        if near:
            same = most_pairs(ours, theirs, are_near)
        else:
            same = sum((Counter(x for x, _ in ours) & Counter(x for x, _ in theirs)).values())
        counts = (
            max(e - o, 0),
            max(o - e, 0) if e else 0,
            0 if e else o,
            min(e, o) - same,
        )
        if any(counts):
            found[one] = dict(zip(CLASSES, counts, strict=True))
    return found
