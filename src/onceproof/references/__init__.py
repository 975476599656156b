"""A reference computes from a run's events and offset log the rows that the engine had to emit.

It is bounded PySpark, and shares no code with the streaming job. It is a function of the events,
each of which has the batch that read it and the watermark by which it was late in that batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from onceproof.errors import RequestError
from onceproof.naming import find_attribute
from onceproof.runs.ledger import UNREADABLE
from onceproof.runs.plan import RowsPart, Writes


@dataclass(frozen=True)
class Events:
    """The input of a reference.

    `frame` has the ledger's rows that the offset log covers, with `batch` (int) and `late_ms`
    (long): W(batch - 1). Some may hold no event: see `readable`. `watermarks` has a row for each
    batch of the log: `batch`, `before_ms` (W of the previous batch, below any time for the first)
    and `watermark_ms` (W of this batch). Both are DataFrames of one session. `calm` is the output
    of the calm run, if there was one. `topics` has the topic of each input by the
    input's name.
    """

    frame: Any
    watermarks: Any
    calm: Any = None
    topics: Mapping[str, str] = field(default_factory=dict)

    def by_input(self) -> dict[str, Any]:
        """Return the rows of each input, by the input's name."""
        return {
            name: self.frame.where(self.frame["topic"] == topic)
            for name, topic in self.topics.items()
        }


@dataclass(frozen=True)
class Lateness:
    """The watermark of a pipeline, on `event_ms`.

    `delay_ms` is its distance from the newest event. `dropped` returns the rows that it dropped, in
    the columns of `onceproof.references.windows.late`: a row for each row and window.
    """

    delay_ms: int
    dropped: Callable[[Events], Any]


@dataclass(frozen=True)
class Reference:
    """The format of a pipeline's output, and the function that computes its rows.

    `columns` maps each column of the output to its Spark type. `key` is unique in the output of a
    sink that upserts. `version` is a column that only grows within a key, if there is one.
    `emitted` returns the columns and `_batch`: each row that the engine had to emit, with the batch
    that had to emit it. `state` returns the rows that must be in Spark's state after the last
    batch, in the columns of `state_columns` (expressions over `key` and `value` of the state); it
    is None if the pipeline keeps no state. `lateness` is None without a watermark. `mode` is the
    output mode of the query. Without `rests_on_log` the reference gets all sent events
    (`onceproof.references.declared`).
    """

    columns: Mapping[str, str]
    key: tuple[str, ...]
    version: str | None
    emitted: Callable[[Events], Any]
    state: Callable[[Events], Any] | None = None
    state_columns: tuple[str, ...] = ()
    lateness: Lateness | None = None
    mode: str = "append"
    rests_on_log: bool = True

    @property
    def is_stateful(self) -> bool:
        """Whether the query keeps state between batches."""
        return self.state is not None or self.lateness is not None

    def compared_by(self, writes: Writes) -> list[str]:
        """Return the columns by which rows are matched: the key, and the version for appends."""
        version = self.version if writes is Writes.APPEND else None
        return [*self.key, *([version] if version and version not in self.key else [])]

    def in_plan(self, writes: Writes) -> RowsPart:
        """Return the parts for the plan, by which the judge knows how rows were compared."""
        return RowsPart(
            columns=dict(self.columns),
            key=self.key,
            version=self.version,
            compared_by=tuple(self.compared_by(writes)),
            delay_ms=self.lateness.delay_ms if self.lateness else None,
            rests_on_log=self.rests_on_log,
            keeps_state=self.state is not None,
        )


def readable(frame: Any) -> Any:
    """Return the rows that hold an event: no tombstones, and no records that cannot be parsed."""
    from pyspark.sql import functions as F

    return frame.where(F.col("awkward").isNull() | ~F.col("awkward").isin(*UNREADABLE))


REFERENCES: Mapping[str, str] = {
    name: f"onceproof.references.{name}:REFERENCE"
    for name in ("app_views", "copy_events", "sliding_counts")
}


WRITE = "module:attribute, with the module on PYTHONPATH"


def find_reference(name: str) -> Reference:
    """Return the reference that a `module:attribute` names."""
    found = find_attribute(name, f"reference {name!r}", WRITE)
    if not isinstance(found, Reference):
        raise RequestError(f"{name} is a {type(found).__name__}; use a Reference")
    return found
