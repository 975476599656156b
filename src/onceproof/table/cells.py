"""Cells of the table: a source and a sink family, their promise, and the result of a visit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.guarantee import Guarantee, end_to_end
from onceproof.sinks import find_sink
from onceproof.table.visit import KAFKA, TAKEN_ONCE, Visit, expected, points

SOURCES = {TAKEN_ONCE: "not replayable", KAFKA: "replayable"}
# The sink that represents each family.
SINK_OF_FAMILY = {
    "append": "append_table",
    "idempotent": "upsert_table",
    "wal": "wal_table",
    "two_phase": "two_phase_table",
}
NONE = "none"
# The anomalies that distinguish guarantees.
DECISIVE = ("lost", "duplicated")
_WHY = {
    "lost": "input that a batch had read when it crashed cannot be read again",
    "duplicated": "a log that crashes between its effect and its mark repeats the effect,"
    " with any source",
}


@dataclass(frozen=True)
class Cell:
    """A measured cell of the table."""

    visit: Visit
    witnessed: Mapping[str, str]

    @property
    def claimed(self) -> Guarantee:
        """The promise of source and sink: the weaker of both."""
        is_kept = self.visit.source == KAFKA
        source = Guarantee.EXACTLY_ONCE if is_kept else Guarantee.AT_MOST_ONCE
        sink = find_sink(self.visit.sink).guarantee
        return end_to_end(source, Guarantee.EXACTLY_ONCE, sink)

    @property
    def measured(self) -> str | None:
        """The guarantee that the anomalies show; None if the verdict is UNKNOWN."""
        if self.visit.unknown_reasons:
            return None
        seen = self.visit.anomalies.keys()
        if seen - set(DECISIVE) or seen >= set(DECISIVE):
            return NONE
        if "lost" in seen:
            return Guarantee.AT_MOST_ONCE
        return Guarantee.AT_LEAST_ONCE if seen else Guarantee.EXACTLY_ONCE

    @property
    def is_expected(self) -> bool:
        """Whether exactly the anomalies appeared that the pair is known to have."""
        return set(self.visit.anomalies) == set(expected(self.visit.sink, self.visit.source))

    @property
    def missing(self) -> list[str]:
        """The reasons why the cell is not fully measured."""
        struck = {one.point for one in self.visit.steps if one.landed}
        left = [one for one in points(self.visit.sink) if one not in struck]
        unseen = [name for name in DECISIVE if name not in self.witnessed]
        return [
            *self.visit.unknown_reasons,
            *([f"no process crashed at {', '.join(left)}"] if left else []),
            *([f"no row was {' or '.join(unseen)} anywhere under these crashes"] if unseen else []),
        ]

    @property
    def reason(self) -> str:
        """The reason for a difference to the claim, and the gaps of the measurement."""
        reasons = list(self.missing)
        if self.measured not in (None, self.claimed):
            rows = [f"{rows:,} rows {name}" for name, rows in self.visit.anomalies.items()]
            seen = [_WHY[name] for name in self.visit.anomalies if name in _WHY]
            why = f": {'; '.join(seen)}" if self.is_expected else ""
            reasons.insert(0, " and ".join(rows) + why if rows else "no anomaly appeared")
        return "; ".join(reasons)

    def document(self) -> dict[str, Any]:
        """Return the cell for --json."""
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
    """Return the cells of a table, each with a place where the decisive anomalies appeared.

    That is the cell itself; else one of the same sink, or of the same source; else any other. The
    crashes were the same, so the anomalies would have appeared in the cell too.
    """
    return [Cell(one, _witnessed(one, visits)) for one in visits]


def _witnessed(cell: Visit, visits: Sequence[Visit]) -> dict[str, str]:
    near = sorted(
        visits, key=lambda one: (one is not cell, one.sink != cell.sink, one.source != cell.source)
    )
    found = {}
    for name in DECISIVE:
        seen = [one for one in near if one.anomalies.get(name) and not one.unknown_reasons]
        if seen:
            one = seen[0]
            found[name] = f"{one.sink}, {SOURCES[one.source]}: {one.anomalies[name]:,} rows"
    return found
