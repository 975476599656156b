"""A reference says, from the events and the offset log of a run, what the engine had to emit.

It is bounded PySpark, and shares no line with the streaming job. It is one function of the events:
each of them knows the batch that read it and the watermark before which it was late there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError
from onceproof.naming import find_attribute
from onceproof.runs.plan import RowsPart, Writes


@dataclass(frozen=True)
class Events:
    """What a reference is given.

    `frame` holds the ledger's rows that the offset log covers, with `batch` (int) and `late_ms`
    (long): W(batch - 1). `watermarks` has a row for each batch of the log: `batch`, `before_ms`
    (W of the batch before, below any time for the first) and `watermark_ms` (W of this batch). Both
    are DataFrames of one session. `calm` is what a run without faults has left, if there was one.
    """

    frame: Any
    watermarks: Any
    calm: Any = None


@dataclass(frozen=True)
class Lateness:
    """The watermark of a pipeline, on `event_ms`.

    `delay_ms` is how far it lies behind the newest event. `dropped` returns what it dropped in the
    columns that `onceproof.references.windows.late` gives: a row for each row and window.
    """

    delay_ms: int
    dropped: Callable[[Events], Any]


@dataclass(frozen=True)
class Reference:
    """What the output of a pipeline looks like, and the function that says what must be in it.

    `columns` names each column of the output with its Spark type. `key` is what is unique in the
    output where the newest row of a key replaces the older. `version` is a column that only grows
    within a key, if there is one. `emitted` returns the columns and `_batch`: a row for each row
    that the engine had to emit, in the batch that emitted it. `state` returns what must be open
    after the last batch, in the columns that `state_columns` (expressions over `key` and `value`)
    reads from Spark's state; None where the pipeline keeps none. `lateness` is None where nothing
    is ever too late. `mode` is the output mode of the query. One that does not rest on the offset
    log is given all that was sent (`onceproof.references.declared`).
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
        """Whether the query keeps something from batch to batch."""
        return self.state is not None or self.lateness is not None

    def compared_by(self, writes: Writes) -> list[str]:
        """Return what a row is known by: the key, and the version where rows are added."""
        version = self.version if writes is Writes.APPEND else None
        return [*self.key, *([version] if version and version not in self.key else [])]

    def in_plan(self, writes: Writes) -> RowsPart:
        """Return what the plan keeps of it, so that the judge knows what had to be compared."""
        return RowsPart(
            columns=dict(self.columns),
            key=self.key,
            version=self.version,
            compared_by=tuple(self.compared_by(writes)),
            delay_ms=self.lateness.delay_ms if self.lateness else None,
            rests_on_log=self.rests_on_log,
            keeps_state=self.state is not None,
        )


REFERENCES: Mapping[str, str] = {
    name: f"onceproof.references.{name}:REFERENCE"
    for name in ("app_views", "copy_events", "sliding_counts")
}


WRITE = "module:attribute, with the module on PYTHONPATH"


def find_reference(name: str) -> Reference:
    """Return the reference that a `module:attribute` names."""
    found = find_attribute(name, f"reference {name!r}", WRITE)
    if not isinstance(found, Reference):
        raise RequestError(f"{name} is a {type(found).__name__}, and must be a Reference")
    return found
