"""Every kind of damage to a checkpoint, for each way to keep state: its effect and its detection.

A stream of views by app over a log without Kafka, six batches done and some to come; its output is
put into a table by key, so batches that are run again can be distinguished from wrong rows.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from onceproof.checkpoint import log
from onceproof.checkpoint.checks import troubles
from onceproof.checkpoint.damage import damage
from onceproof.checkpoint.damage_kinds import KINDS
from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools
from tests.spark.made_input import LEDGER, make

_STATE = "org.apache.spark.sql.execution.streaming.state"
_STORE = "spark.sql.streaming.stateStore."
_ROCKSDB = {
    f"{_STORE}providerClass": f"{_STATE}.RocksDBStateStoreProvider",
    f"{_STORE}rocksdb.changelogCheckpointing.enabled": "true",
}
STORES: dict[str, dict[str, str]] = {
    "hdfs": {},
    "rocksdb": _ROCKSDB,
    "rocksdb, format 2": _ROCKSDB | {f"{_STORE}checkpointFormatVersion": "2"},
}
ROWS_A_BATCH, DONE, PARTITIONS = 240, 6, 3
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_.]{8,})\]")
_PLAIN = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")


@dataclass
class Table:
    """What the stream wrote: the newest views of each app, and the batches that it ran."""

    views: dict[str, int]
    batches: list[int]

    def put(self, frame: Any, batch: int) -> None:
        self.views |= {row.app: row.views for row in frame.collect()}
        self.batches.append(batch)


@dataclass(frozen=True)
class Bench:
    """A sound checkpoint after six batches, its archive, and the input as it was and as it is."""

    spark: Any
    folder: Path
    settings: dict[str, str]

    @property
    def sound(self) -> Path:
        return self.folder / "sound"

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    def begin(self, rows: list[dict]) -> Table:
        """Run six batches from the beginning, and archive their logs."""
        write_input(rows[: ROWS_A_BATCH * DONE], self.folder / "before")
        write_input(rows, self.folder / "after")
        table = Table({}, [])
        self.run(self.sound, "before", table)
        for name in ("offsets", "commits"):
            shutil.copytree(self.sound / name, self.archive / name)
        shutil.copy(self.sound / "metadata", self.archive)
        (self.archive / "state").mkdir()
        return Table(table.views, [])

    def run(self, checkpoint: Path, given: str, table: Table) -> None:
        """Go on from a checkpoint until all of an input is read."""
        source = self.spark.readStream.format("ledger").option("path", str(self.folder / given))
        frame = views(source.option("limit", ROWS_A_BATCH).load())
        query = frame.writeStream.foreachBatch(table.put).outputMode("update")
        query = query.option("checkpointLocation", str(checkpoint)).start()
        try:
            query.processAllAvailable()
            wait_for(lambda: not query.status["isTriggerActive"], 30, "the stream does not rest")
        finally:
            query.stop()

    def visit(self, kind: str, before: Table) -> dict[str, Any]:
        """Damage a copy, ask the check, go on from it, and say what became of it."""
        checkpoint = self.folder / kind
        shutil.copytree(self.sound, checkpoint)
        damage(checkpoint, kind, log.newest(checkpoint)[1])
        said = troubles(checkpoint, self.archive)
        table, failed = Table(dict(before.views), []), ""
        try:
            self.run(checkpoint, "after", table)
        except Exception as error:  # whatever Spark ends the query with
            failed = cause(error)
        shutil.rmtree(checkpoint, ignore_errors=True)
        return {"check": said, "failed": failed, "batches": table.batches, "views": table.views}


def prove() -> str:
    rows = made_rows()
    truth = Counter(row["key"] for row in rows)
    kinds = [kind for kind in KINDS if not KINDS[kind].is_of_disk]  # as if all were lost
    found: dict[str, dict[str, dict]] = {kind: {} for kind in kinds}
    with (
        tempfile.TemporaryDirectory() as folder,
        spark_session(spark_tools(onceproof_home()), "local[2]", Path(folder)) as spark,
    ):
        make_ready(spark)
        for nth, (store, settings) in enumerate(STORES.items()):
            for name, value in settings.items():
                spark.conf.set(name, value)
            bench = Bench(spark, Path(folder) / f"store-{nth}", settings)
            before = bench.begin(rows)
            for kind in kinds:
                found[kind][store] = bench.visit(kind, before)
                sys.stderr.write(f"{store}: {kind}: {result(found[kind][store], truth)}\n")
            for name in settings:
                spark.conf.unset(name)
    return page(found, truth)


def page(found: dict[str, dict[str, dict]], truth: Counter) -> str:
    """The table, and below it the damage that nothing detects."""
    lines = [
        f"| damage | {' | '.join(STORES)} | the check before the start |",
        "|---" * (len(STORES) + 2) + "|",
    ]
    silent = []
    for kind, by_store in found.items():
        cells = [result(one, truth) for one in by_store.values()]
        said = next(iter(by_store.values()))["check"]
        lines.append(f"| `{kind}`: {KINDS[kind].about} | {' | '.join(cells)} | {check(said)} |")
        silent += [
            f"- `{kind}` on {store}: {result(one, truth)}, and the check before the start is silent"
            for store, one in by_store.items()
            if not one["check"] and not one["failed"]
        ]
    return "\n".join([*lines, "", *(silent or ["What Spark takes in silence the check sees."])])


def result(one: dict, truth: Counter) -> str:
    """What Spark did, in a few words."""
    if one["failed"]:
        ran = f", after batch {one['batches'][-1]}" if one["batches"] else ""
        return f"refused{ran}: {one['failed']}"
    is_right = one["views"] == truth
    first = one["batches"][0] if one["batches"] else None
    again = f", from batch {first}" if first is not None and first < DONE else ""
    return f"{'runs, right' if is_right else '**runs, WRONG**'}{again}"


def check(said: list[str]) -> str:
    return (said[0].partition(":")[0] + (" ..." if len(said) > 1 else "")) if said else "silent"


def cause(error: Exception) -> str:
    """The classes that Spark names, else the end of what it says."""
    text = f"{error} {getattr(error, 'stackTrace', '')} {getattr(error, '_stackTrace', '')}"
    named = [one for one in dict.fromkeys(_CLASS.findall(text)) if one not in _PLAIN]
    if named:
        return f"`{named[0]}`"
    words = re.sub(r"^.*?(with exception|error):", "", " ".join(str(error).split()))
    words = re.split(r" SQLSTATE| at \[Source| using file:|file:/|\. Incomplete", words)
    return " ".join(filter(None, (one.strip() for one in words[:1]))).replace("|", "/")[:70]


def views(events: Any) -> Any:
    """The pipeline, from the job's own file."""
    path = Path(__file__).parents[2] / "spark_jobs/app_views.py"
    spec = importlib.util.spec_from_file_location("app_views", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.stream(events)


def make_ready(spark: Any) -> None:
    from tests.spark.log_source import LedgerSource

    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(LedgerSource)


def made_rows() -> list[dict]:
    """Rows for six batches and two more, in turn over the partitions."""
    rows = [row for batch in make(3, batches=30).batches for row in batch]
    return [
        row | {"partition": nth % PARTITIONS, "offset": nth // PARTITIONS}
        for nth, row in enumerate(rows[: ROWS_A_BATCH * (DONE + 2)])
    ]


def write_input(rows: list[dict], folder: Path) -> None:
    folder.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist(rows, LEDGER), folder / "part-0.parquet")
