"""A cell: a source and a sink family, what they promise, and what a visit showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.guarantee import Guarantee, end_to_end
from onceproof.sinks import find_sink
from onceproof.table.visit import KAFKA, TAKEN_ONCE, Visit, expected, points

SOURCES = {TAKEN_ONCE: "not replayable", KAFKA: "replayable"}
# The sink that stands for each family.
STAND_FOR = {
    "append": "append_table",
    "idempotent": "upsert_table",
    "wal": "wal_table",
    "two_phase": "two_phase_table",
}
NONE = "none"
# The anomalies by which a guarantee is told from the others.
TELLING = ("lost", "duplicated")
_WHY = {
    "lost": "what a batch had taken from the source when it died nobody can read again",
    "duplicated": "a log that dies between its effect and its mark makes the effect twice,"
    " whatever the source is",
}


@dataclass(frozen=True)
class Cell:
    """One cell of the table, measured."""

    visit: Visit
    witnessed: Mapping[str, str]

    @property
    def claimed(self) -> Guarantee:
        """What source and sink promise: the weaker of both."""
        is_kept = self.visit.source == KAFKA
        source = Guarantee.EXACTLY_ONCE if is_kept else Guarantee.AT_MOST_ONCE
        sink = find_sink(self.visit.sink).guarantee
        return end_to_end(source, Guarantee.EXACTLY_ONCE, sink)

    @property
    def measured(self) -> str | None:
        """What was seen, by the classes of its anomalies; None where nothing is known."""
        if self.visit.doubts:
            return None
        seen = self.visit.anomalies.keys()
        if seen - set(TELLING) or seen >= set(TELLING):
            return NONE
        if "lost" in seen:
            return Guarantee.AT_MOST_ONCE
        return Guarantee.AT_LEAST_ONCE if seen else Guarantee.EXACTLY_ONCE

    @property
    def is_foreseen(self) -> bool:
        """Whether exactly those anomalies were seen that the pair is known to have."""
        return set(self.visit.anomalies) == set(expected(self.visit.sink, self.visit.source))

    @property
    def missing(self) -> list[str]:
        """What keeps the cell from being fully measured."""
        struck = {one.point for one in self.visit.steps if one.landed}
        left = [one for one in points(self.visit.sink) if one not in struck]
        unseen = [name for name in TELLING if name not in self.witnessed]
        return [
            *self.visit.doubts,
            *([f"nobody died at {', '.join(left)}"] if left else []),
            *([f"no row was {' or '.join(unseen)} anywhere under these deaths"] if unseen else []),
        ]

    @property
    def reason(self) -> str:
        """Why it was measured otherwise than claimed, and what is missing."""
        said = list(self.missing)
        if self.measured not in (None, self.claimed):
            rows = [f"{rows:,} rows {name}" for name, rows in self.visit.anomalies.items()]
            seen = [_WHY[name] for name in self.visit.anomalies if name in _WHY]
            why = f": {'; '.join(seen)}" if self.is_foreseen else ""
            said.insert(0, " and ".join(rows) + why if rows else "no anomaly was seen")
        return "; ".join(said)

    def document(self) -> dict[str, Any]:
        """Return the cell as other programs read it."""
        sink = find_sink(self.visit.sink)
        return {
            "source": SOURCES[self.visit.source],
            "family": sink.family,
            "sink": self.visit.sink,
            "claimed": self.claimed,
            "measured": self.measured,
            "reason": self.reason,
            "crash_points": [
                {"point": one.point, "dies": one.dies, "landed": one.landed, "seen": one.outcome}
                for one in self.visit.steps
            ],
            "anomalies": self.visit.anomalies,
            "witnessed": dict(self.witnessed),
            "complete": not self.missing,
            "run": self.visit.document["run"],
            "replay": self.visit.document["replay"],
        }


def cells(visits: Sequence[Visit]) -> list[Cell]:
    """Return the cells of a table, each with where the telling anomalies were witnessed.

    In the cell itself; else by the same sink, or by the same source; else by any other: the deaths
    were the same, so they would have been seen.
    """
    return [Cell(one, _witnessed(one, visits)) for one in visits]


def _witnessed(cell: Visit, visits: Sequence[Visit]) -> dict[str, str]:
    near = sorted(
        visits, key=lambda one: (one is not cell, one.sink != cell.sink, one.source != cell.source)
    )
    found = {}
    for name in TELLING:
        seen = [one for one in near if one.anomalies.get(name) and not one.doubts]
        if seen:
            one = seen[0]
            found[name] = f"{one.sink}, {SOURCES[one.source]}: {one.anomalies[name]:,} rows"
    return found
