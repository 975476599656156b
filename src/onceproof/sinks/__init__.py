"""Sinks: where pipelines write, how readers read it, and the guarantee that each sink declares.

A sink is a class whose only argument is a `Target`: in the job, in the phases and in the reader.
Its traits are class attributes, so a plan can be made without connecting to a store.
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
    """The place that one run writes to, and its writer: the only argument of a sink.

    `address` is the store's address, `name` the object in the store (for a table `schema.table`).
    `columns`, `key` and `version` come from the reference. `attempt` is the number of the job
    start that writes, 0 for a reader. `checkpoint` is the query's `checkpointLocation`, required
    by sinks that record their batches. `writer` is the name under which batches are recorded; by
    default it is derived from the target.
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
    """A store that sinks write to: the stack members it needs, and the source of its address.

    `address` is one of `output` (the run's folder), `bootstrap` (the stack's Kafka brokers) and
    `store` (the stack's database).
    """

    needs: tuple[str, ...] = ()
    address: str = "store"


# The columns of `reads/` except `poll`.
LOOK = dict.fromkeys(["copies", "key", "value", "version", "position", "batch", "attempt"], "int64")
LOOK |= {"key": "string", "value": "string"}


@dataclass(frozen=True)
class Look:
    """The rows added and removed since the reader's previous look.

    `rows` is an Arrow table with the columns of `reads/` except `poll`: copies, key, value,
    version, position, batch, attempt.
    """

    rows: Any

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> Look:
        """Return a look with these rows, whose values are in the order of `LOOK`."""
        import pyarrow as pa

        cells = zip(*rows, strict=True) if rows else ((),) * len(LOOK)
        kinds = [getattr(pa, kind)() for kind in LOOK.values()]
        arrays = [pa.array(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
        return cls(pa.table(arrays, names=list(LOOK)))


class Reader(Protocol):
    """A reader that polls the sink with the same visibility as the sink's consumers."""

    def look(self) -> Look:
        """Return the changes since the last look; raises if the store does not answer in time.

        After a look that raised, the next one returns the changes that were missed.
        """

    def close(self) -> None:
        """Release connections and other resources."""


class Sink(Protocol):
    """The interface that a run needs of a sink.

    `modes` are the output modes that it supports, `steps` the failpoints that its batches reach.
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
        """Store the target; must not connect to the store."""

    def prepare(self) -> None:
        """Create the table, topic or folder; idempotent."""

    def write(self, frame: Any, batch: int) -> None:
        """Write one batch; the function for `foreachBatch`."""

    def recover(self) -> Mapping[str, Any]:
        """Settle what crashed attempts left open, while no attempt runs; return the actions taken.

        `decided` and `undone` of the result go to the history as decisions: pairs of a batch and a
        start of the job. The other entries are stored as the proof of the recovery.
        """

    def open(self) -> tuple[int, int]:
        """Return the number of open transactions, and of rows that they hide from readers."""

    def reader(self) -> Reader:
        """Return a reader that polls the sink during the run."""

    def read(self, folder: Path) -> tuple[int, str]:
        """Write all visible rows into a folder as parquet; return their number and a digest.

        The columns are the target's, `_batch` and `_attempt`. Equal rows have equal digests.
        """

    def drop(self) -> None:
        """Remove everything that `prepare` created; idempotent."""


@runtime_checkable
class OwnQuery(Protocol):
    """The additional method of a sink that Spark writes itself; its `write` is never called."""

    def start(self, rows: Any, mode: str, trigger: str) -> Any:
        """Start a query that writes the rows of a stream; return the query."""


@runtime_checkable
class NamesOpen(Protocol):
    """The additional method of a sink whose store lists open transactions by name."""

    def open_names(self) -> list[str]:
        """Return the names of the transactions that `open` counts."""


@runtime_checkable
class ReadsAll(Protocol):
    """The additional method of a sink whose rows have more columns than its target."""

    def read_all(self, folder: Path) -> None:
        """Write all visible rows into a folder as parquet, with all of their columns."""


# By the sink's `store`; any other store has the address of the stack's database.
STORES: Mapping[str, Store] = {
    "postgresql": Store(needs=("store",)),
    "kafka": Store(address="bootstrap"),
    "files": Store(address="output"),
}
# The built-in sinks, by their names in scenarios.
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
# The outputs of users' own jobs, which are read and never written.
OUTPUTS: Mapping[str, str] = {
    "table": "onceproof.sinks.outputs.table:Table",
    "parquet": "onceproof.sinks.outputs.folder:Parquet",
    "json": "onceproof.sinks.outputs.folder:Json",
    "topic": "onceproof.sinks.outputs.topic:Topic",
    "rows": "onceproof.sinks.outputs.rows:Rows",
}


def find_sink(name: str, options: Mapping[str, Any] | None = None) -> type[Sink]:
    """Return the class of one of `SINKS` or `OUTPUTS`, or the class at `module:attribute`.

    With options, an output's class has the traits that they declare.
    """
    paths = {**SINKS, **OUTPUTS}
    write = f"one of {', '.join(paths)}, or module:attribute with the module on PYTHONPATH"
    sink = find_attribute(paths.get(name, name), f"sink {name!r}", write)
    if options is not None and name in OUTPUTS:
        sink = sink.declaring(options)
    if missing := [part for part in _PARTS if not hasattr(sink, part)]:
        raise RequestError(f"{name} has no {missing[0]}; a sink must have {', '.join(_PARTS)}")
    kind: type[Sink] = sink
    return kind


_PARTS = (
    *("family", "store", "guarantee", "atomic_batches", "ordered", "writes", "modes", "steps"),
    *("prepare", "write", "recover", "open", "reader", "read", "drop"),
)
