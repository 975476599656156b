"""What a sink may promise, the anomalies there are, and which of them each promise allows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Guarantee(StrEnum):
    """How often the effect of one input record is there, from the weakest to the strongest."""

    AT_MOST_ONCE = "at-most-once"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


class Anomaly(StrEnum):
    """The ways in which output can be wrong; the names stand in plans and reports."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    UNEXPECTED = "unexpected"
    CHANGED = "changed"
    STUCK = "stuck"
    UNCOMMITTED_READ = "uncommitted_read"
    TORN = "torn"
    REORDERED = "reordered"
    REGRESSED = "regressed"
    ZOMBIE = "zombie"


@dataclass(frozen=True)
class Promise:
    """What output is held to: a guarantee, and what the sink declares beside it."""

    guarantee: Guarantee
    atomic_batches: bool
    ordered: bool

    def __str__(self) -> str:
        declared = [
            *(["atomic batches"] if self.atomic_batches else []),
            *(["order"] if self.ordered else []),
        ]
        return " with ".join(filter(None, [self.guarantee, " and ".join(declared)]))

    def allows(self, anomaly: Anomaly) -> bool:
        """Whether this anomaly may appear and still be as promised; it is counted either way."""
        match anomaly:
            case Anomaly.TORN:
                return not self.atomic_batches
            case Anomaly.REORDERED:
                return not self.ordered
            case _:
                return self.guarantee in _ALLOWED_UNDER.get(anomaly, ())


_ALLOWED_UNDER: dict[Anomaly, tuple[Guarantee, ...]] = {
    Anomaly.LOST: (Guarantee.AT_MOST_ONCE,),
    Anomaly.DUPLICATED: (Guarantee.AT_LEAST_ONCE,),
    Anomaly.ZOMBIE: (Guarantee.AT_LEAST_ONCE,),
    Anomaly.REGRESSED: (Guarantee.AT_MOST_ONCE, Guarantee.AT_LEAST_ONCE),
}


def end_to_end(source: Guarantee, engine: Guarantee, sink: Guarantee) -> Guarantee:
    """Return the guarantee of the whole: the weakest of its three parts.

    A source that forgets beside a sink that repeats is called at-most-once here, as the sinks'
    table calls it; that such a pair may both lose and duplicate is for measurement to show.
    """
    return min(source, engine, sink, key=list(Guarantee).index)
