"""Sinks: where pipelines write, how readers read it, and the guarantee that each declares.

A sink is a class that is made from a `Target` alone, in the job, in phases and in the reader alike.
Its traits are attributes of the class, so a plan can be made without a store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.naming import find_attribute
from onceproof.runs.plan import Writes


@dataclass(frozen=True)
class Target:
    """What one run writes to, and who writes: all that a sink is made from.

    `address` is the store's, `name` what is written to there (for a table `schema.table`).
    `columns`, `key` and `version` are the reference's. `attempt` is the start of the job that
    writes, 0 for whoever only reads. `checkpoint` is the folder that the query is given as its
    `checkpointLocation`; a sink that remembers its batches needs it. `writer` is the name under
    which it remembers them, the target's own if there is none.
    """

    address: str
    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    version: str | None = None
    attempt: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: str = ""
    writer: str = ""


@dataclass(frozen=True)
class Store:
    """A store that sinks write to: the members that a stack must have for it, and its address.

    `address` is the name of what is the address: a run's `output` folder, or of its stack the
    `bootstrap` servers or the `store`.
    """

    needs: tuple[str, ...] = ()
    address: str = "store"


# The columns of `reads/` but for `poll`.
LOOK = dict.fromkeys(["copies", "key", "value", "version", "position", "batch", "attempt"], "int64")
LOOK |= {"key": "string", "value": "string"}


@dataclass(frozen=True)
class Look:
    """What a reader sees that it had not seen at its last look, and what is gone since.

    `rows` are those of `reads/` without `poll`: copies, key, value, version, position, batch,
    attempt. An Arrow table.
    """

    rows: Any

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> Look:
        """Make one of rows with their values in the order of `LOOK`."""
        import pyarrow as pa

        cells = zip(*rows, strict=True) if rows else ((),) * len(LOOK)
        kinds = [getattr(pa, kind)() for kind in LOOK.values()]
        arrays = [pa.array(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
        return cls(pa.table(arrays, names=list(LOOK)))


class Reader(Protocol):
    """Somebody who looks at the sink again and again, as its readers do."""

    def look(self) -> Look:
        """Look at all that a reader can see now; raises if the store does not answer in time.

        A look that raised has told nothing: the next one tells what it would have.
        """

    def close(self) -> None:
        """Give back what it holds."""


class Sink(Protocol):
    """What a run asks of a sink.

    `modes` are the output modes of queries that it takes, `steps` the failpoints that its batches
    come to.
    """

    family: ClassVar[str]
    store: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    atomic_batches: ClassVar[bool]
    ordered: ClassVar[bool]
    writes: ClassVar[Writes]
    modes: ClassVar[tuple[str, ...]]
    steps: ClassVar[tuple[str, ...]]

    def __init__(self, target: Target) -> None:
        """Make it; nothing is reached yet."""

    def prepare(self) -> None:
        """Make what is written to; a second time changes nothing."""

    def write(self, frame: Any, batch: int) -> None:
        """Write one batch; this is what `foreachBatch` is given."""

    def recover(self) -> Mapping[str, Any]:
        """Settle what dead attempts left, in no attempt's lifetime; return what was done.

        Of that, `decided` and `undone` go to the history as decisions: attempts at batches, each a
        batch and a start of the job. The rest is the proof that it was done.
        """

    def open(self) -> tuple[int, int]:
        """Return how many transactions are open, and how many rows they hide from readers."""

    def reader(self) -> Reader:
        """Return somebody who looks while the run goes on."""

    def read(self, folder: Path) -> tuple[int, str]:
        """Write all that readers see now into a folder of parquet; return rows and a digest.

        The columns are the target's, `_batch` and `_attempt`. The digest is alike for like rows.
        """

    def drop(self) -> None:
        """Remove what `prepare` made; a second time changes nothing."""


@runtime_checkable
class OwnQuery(Protocol):
    """What a sink has beside where Spark writes by itself: then `write` is never called."""

    def start(self, rows: Any, mode: str, trigger: str) -> Any:
        """Start a query that writes the rows of a stream, and return it."""


@runtime_checkable
class NamesOpen(Protocol):
    """What a sink has beside whose store tells what is open by names that people can look up."""

    def open_names(self) -> list[str]:
        """Return the names of what `open` counts."""


# By the name that sinks call it; one that is not here is given the address of the stack's store.
STORES: Mapping[str, Store] = {
    "postgresql": Store(needs=("store",)),
    "kafka": Store(address="bootstrap"),
    "files": Store(address="output"),
}
# Every sink of ours, by the name that scenarios call it.
SINKS: Mapping[str, str] = {
    "append_table": "onceproof.sinks.tables.append_table:AppendTable",
    "upsert_table": "onceproof.sinks.tables.upsert_table:UpsertTable",
    "wal_table": "onceproof.sinks.tables.wal_table:WalTable",
    "wal_table_atomic": "onceproof.sinks.tables.wal_table:WalTableAtomic",
    "two_phase_table": "onceproof.sinks.tables.two_phase_table:TwoPhaseTable",
    "append_topic": "onceproof.sinks.topics.append_topic:AppendTopic",
    "wal_topic": "onceproof.sinks.topics.wal_topic:WalTopic",
    "two_phase_topic": "onceproof.sinks.topics.two_phase_topic:TwoPhaseTopic",
    "batch_folder": "onceproof.sinks.files.batch_folder:BatchFolder",
    "spark_files": "onceproof.sinks.files.spark_files:SparkFiles",
    "two_phase_files": "onceproof.sinks.files.two_phase_files:TwoPhaseFiles",
}
# What jobs of somebody else write to, which is only read.
OUTPUTS: Mapping[str, str] = {
    "table": "onceproof.sinks.outputs.table:Table",
    "parquet": "onceproof.sinks.outputs.folder:Parquet",
    "json": "onceproof.sinks.outputs.folder:Json",
    "topic": "onceproof.sinks.outputs.topic:Topic",
    "rows": "onceproof.sinks.outputs.rows:Rows",
}


def find_sink(name: str, options: Mapping[str, Any] | None = None) -> type[Sink]:
    """Return the class of one of `SINKS` or `OUTPUTS`, or the one that `module:attribute` names.

    With the options of an output it declares what they say.
    """
    known = {**SINKS, **OUTPUTS}
    write = f"one of {', '.join(known)}, or module:attribute with the module on PYTHONPATH"
    found = find_attribute(known.get(name, name), f"sink {name!r}", write)
    if options is not None and name in OUTPUTS:
        found = found.declaring(options)
    if missing := [part for part in _PARTS if not hasattr(found, part)]:
        raise RequestError(f"{name} has no {missing[0]}: a sink has {', '.join(_PARTS)}")
    kind: type[Sink] = found
    return kind


_PARTS = (
    *("family", "store", "guarantee", "atomic_batches", "ordered", "writes", "modes", "steps"),
    *("prepare", "write", "recover", "open", "reader", "read", "drop"),
)
