"""Guarantees of sinks, anomalies of output, and the anomalies that each guarantee allows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Guarantee(StrEnum):
    """How often an input record takes effect, from the weakest guarantee to the strongest."""

    AT_MOST_ONCE = "at-most-once"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


class Anomaly(StrEnum):
    """The ways in which output can be wrong; plans and reports use these names."""

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
    """The expectations on an output: a guarantee, and the sink's further declarations."""

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
        """Whether the promise allows this anomaly; it is counted in any case."""
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
    """Return the guarantee of a pipeline: the weakest of its three parts.

    An at-most-once source with an at-least-once sink is called at-most-once here, as in the table
    of sinks, although such a pair may both lose and duplicate rows.
    """
    return min(source, engine, sink, key=list(Guarantee).index)
