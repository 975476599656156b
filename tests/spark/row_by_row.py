"""An oracle for references: Spark's processing row by row and batch by batch, in plain Python.

It keeps state and goes through the batches, as the engine does; references do neither.
"""

from collections import defaultdict


def steps(made):
    """Return number, rows, previous watermark and watermark of each batch."""
    before = [0, *made.watermarks]
    return [(b, rows, before[b], made.watermarks[b]) for b, rows in enumerate(made.batches)]


def copy_events(made):
    names = "id", "key", "seq", "event_ms", "amount"
    return [(*(row[name] for name in names), b) for b, rows, _, _ in steps(made) for row in rows]


def app_views(made):
    views, emitted = defaultdict(int), []
    for batch, rows, _, _ in steps(made):
        for row in rows:
            views[row["key"]] += 1
        emitted += [(app, views[app], batch) for app in {row["key"] for row in rows}]
    return emitted


def sliding_counts(made, size_ms=4000, slide_ms=1000):
    """Return the emitted rows, the dropped ones (id, offset, window), and the open windows."""
    state, emitted, dropped = defaultdict(lambda: [0, 0]), [], []
    for batch, rows, late, now in steps(made):
        for row in rows:
            start = row["event_ms"] // slide_ms * slide_ms
            while start > row["event_ms"] - size_ms:
                end = start + size_ms
                if end <= late:
                    dropped.append((row["id"], row["partition"], row["offset"], batch, end))
                else:
                    state[row["key"], end][0] += 1
                    state[row["key"], end][1] += row["amount"]
                start -= slide_ms
        for app, end in [one for one in state if one[1] <= now]:
            emitted.append((app, end, *state.pop((app, end)), batch))
    return emitted, dropped, [(*key, *values) for key, values in state.items()]


def sessions(made, gap_ms):
    """Return key, start, end, count, amount and batch of each session; an open one has None."""
    state, found = defaultdict(list), []
    for batch, rows, late, now in steps(made):
        for row in rows:
            at = row["event_ms"]
            if at + gap_ms > late:
                state[row["key"]].append((at, at + gap_ms, 1, row["amount"]))
        for key, parts in state.items():
            merged = []
            for part in sorted(parts):
                if merged and part[0] <= merged[-1][1]:
                    last = merged.pop()
                    sums = last[2] + part[2], last[3] + part[3]
                    part = last[0], max(last[1], part[1]), *sums
                merged.append(part)
            found += [(key, *part, batch) for part in merged if part[1] <= now]
            state[key] = [part for part in merged if part[1] > now]
    return found + [(key, *part, None) for key, parts in state.items() for part in parts]


def first_of_each(made):
    seen, emitted = set(), []
    for batch, rows, late, _ in steps(made):
        for row in rows:
            one = row["key"], row["event_ms"]
            if one[1] > late and one not in seen:
                seen.add(one)
                emitted.append((*one, batch))
    return emitted


def first_within(made, delay_ms):
    until, emitted = {}, []
    for batch, rows, late, now in steps(made):
        for row in sorted(rows, key=lambda row: (row["partition"], row["offset"])):
            if row["event_ms"] > late and row["key"] not in until:
                until[row["key"]] = row["event_ms"] + delay_ms
                emitted.append((row["key"], row["id"], row["offset"], batch))
        until = {key: end for key, end in until.items() if end > now}
    return emitted


def newest(emitted, width):
    """Return the last row of each key, as an upserting sink keeps it; the key comes first."""
    return list({row[:width]: row for row in sorted(emitted, key=lambda row: row[-1])}.values())
