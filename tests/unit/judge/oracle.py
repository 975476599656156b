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


def stepped(expected, observed, name, allowed, tolerance):
    """Both sides with near values replaced by the smallest from which they follow step by step."""
    frames = [frame.reset_index(drop=True) for frame in (expected, observed)]
    groups = {}
    for frame in frames:
        done = [one for one in tolerance if one != name and f"{one} stepped" in frame.attrs]
        exact = [one for one in frame.columns if one not in tolerance or one in done]
        for at, row in frame.iterrows():
            group = tuple(plain(row[one]) for one in exact)
            groups.setdefault(group, []).append((frame, at, row[name]))
    for rows in groups.values():
        numbers = sorted(
            (one for one in rows if one[2] is not None and one[2] == one[2]), key=lambda one: one[2]
        )
        start = before = None
        for frame, at, value in numbers:
            if before is None or (value != before and not float(value - before) <= allowed):
                start = value
            frame.at[at, name], before = start, value
    for frame in frames:
        frame.attrs[f"{name} stepped"] = True
    return frames


def differences(expected, observed, key, tolerance=None):
    """Counts of each class by key; sides are DataFrames of objects."""
    for name, allowed in (tolerance or {}).items():
        expected, observed = stepped(expected, observed, name, allowed, tolerance)
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
