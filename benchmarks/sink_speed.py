"""Costs of each sink: rows per second, time of a nearly empty batch, and delay until it is visible.

Arguments: millions of rows a turn (default: 1), then names of sinks (default: all). It uses one
warm session on local[2] without quick settings, and one PostgreSQL; all sinks write the same stream
of parquet files, in turns. The first batch of a turn and the first turn do not count; the faster of
the other turns does. `noop` is Spark's, `spark_files` its own parquet sink, `append_table` a COPY
by each task, `format:` the data source.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as parquet

from onceproof.machine.home import onceproof_home
from onceproof.sinks import SINKS, OwnQuery, Target, find_sink
from onceproof.sinks.data_source import register
from onceproof.sinks.files.store import part_of
from onceproof.spark.session import spark_session
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.programs import spark_tools

TURNS, BATCHES, SMALL_BATCHES, TASKS = 3, 6, 20, 2
FORMATS = {"format:table": "two_phase_table", "format:files": "two_phase_files"}
COLUMNS = {"id": "bigint", "customer": "string", "amount": "double", "at": "timestamp"}
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
SETTINGS = {"spark.driver.memory": "2g", "spark.ui.showConsoleProgress": "false"}
AGAINST = {"two_phase_table": "append_table", "format:table": "append_table"}
AGAINST |= {"two_phase_files": "spark_files", "format:files": "spark_files"}


def make_input(folder: Path, batches: int, rows: int) -> Path:
    """Write the files of this many batches, one for each task, oldest first."""
    folder.mkdir()
    rng = np.random.default_rng(7)
    for number in range(batches * TASKS):
        ids = np.arange(rows // TASKS) + number * rows // TASKS
        cells = {"id": ids, "customer": [f"customer {one}" for one in ids % 1000]}
        cells |= {"amount": np.round(rng.random(ids.size) * 1000, 2)}
        moments = pa.array(ids * 1000 + 1_700_000_000_000_000, pa.timestamp("us", "UTC"))
        path = folder / f"{number:04d}.parquet"
        parquet.write_table(pa.table(cells | {"at": moments}), path)
        os.utime(path, (number, number))
    return folder


class Turn:
    """One sink, its target and its query over one input."""

    def __init__(self, spark, name: str, address: str, folder: Path) -> None:
        self.spark, self.name, self.folder = spark, name, folder
        folder.mkdir()
        self.kind = find_sink(FORMATS.get(name, name)) if name != "noop" else None
        is_table = self.kind and self.kind.store == "postgresql"
        where = (address, "bench.rows") if is_table else (str(folder), "rows")
        checkpoint = str(folder / "checkpoint")
        self.target = Target(*where, COLUMNS, ("id",), attempt=1, checkpoint=checkpoint)
        if self.kind:
            self.kind(self.target).prepare()

    def run(self, source: Path) -> list[dict]:
        """Write all of the input and return the progress of each batch that had rows."""
        began = time.monotonic()
        rows = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", TASKS)
        query = self.start(rows.parquet(str(source)))
        query.processAllAvailable()
        query.stop()
        if query.exception():
            sys.exit(f"{self.name}: {query.exception()}")
        print(self.name, source.name, f"{time.monotonic() - began:.1f} s", file=sys.stderr)
        progress = [json.loads(one.json) for one in query.recentProgress]
        return [one for one in progress if one["numInputRows"]]

    def start(self, rows):
        """Start the query."""
        if self.kind and issubclass(self.kind, OwnQuery):
            return self.kind(self.target).start(rows, "append", "0 seconds")
        stream = rows.writeStream.option("checkpointLocation", self.target.checkpoint)
        if self.name == "noop":
            return stream.format("noop").start()
        if self.name not in FORMATS:
            return stream.foreachBatch(self.kind(self.target).write).start()
        options = {"store": FORMATS[self.name], "name": self.target.name}
        options |= {"address": self.target.address}
        return stream.format("onceproof_two_phase").options(**options).start()

    def drop(self) -> None:
        """Remove its output and folder."""
        if self.kind:
            self.kind(self.target).drop()
        shutil.rmtree(self.folder)

    def visible_batches(self, connection) -> list[int]:
        """Return the batches whose parts are all visible to readers now."""
        data = Path(self.target.address) / "rows" / "data"
        if self.kind.store == "postgresql":
            query = "select _batch from bench.rows group by 1 having count(*) = %s"
            return [batch for (batch,) in connection.execute(query, [2 * TASKS])]
        if self.name == "batch_folder":
            return [int(one.name.partition("=")[2]) for one in data.glob("batch=*")]
        if self.name == "spark_files":
            names = (one.name for one in data.glob("_spark_metadata/[0-9]*"))
            return [int(name.removesuffix(".compact")) for name in names]
        parts = Counter(part_of(one.name).batch for one in data.glob("part-*.parquet"))
        return [batch for batch, count in parts.items() if count == TASKS]


@contextmanager
def watched(turn: Turn, address: str):
    """Record when each batch becomes visible, by polling as often as possible."""
    found: dict[int, float] = {}
    is_over = threading.Event()

    def look() -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            while not is_over.wait(0.002):
                for batch in turn.visible_batches(connection):
                    found.setdefault(batch, time.time())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        is_over.set()
        thread.join()


def rows_a_second(progress: list[dict]) -> float:
    warm = progress[1:]
    return (
        sum(one["numInputRows"] for one in warm) / sum(one["batchDuration"] for one in warm) * 1e3
    )


def delay_ms(progress: list[dict], found: dict[int, float]) -> float:
    starts = {one["batchId"]: datetime.fromisoformat(one["timestamp"]) for one in progress[5:]}
    later = [found[batch] - at.timestamp() for batch, at in starts.items() if batch in found]
    return statistics.median(later) * 1e3


def main(millions: float, names: list[str]) -> None:
    home = onceproof_home() / f"bench-sinks-{os.getpid()}"
    speed = {name: [] for name in names}
    empty, delay = {}, {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        LocalStack.up(home, without=["kafka", "spark"]) as stack,
    ):
        folder, address = Path(scratch), stack.members["store"].address
        large = make_input(folder / "large", BATCHES, int(millions * 1e6) // BATCHES)
        small = make_input(folder / "small", SMALL_BATCHES, 2 * TASKS)
        tools, more = spark_tools(onceproof_home(), is_quick=False), SETTINGS
        with spark_session(tools, "local[2]", folder / "spark", more) as spark:
            spark.sparkContext.setLogLevel("OFF")
            register(spark)
            for name in names * TURNS:
                turn = Turn(spark, name, address, folder / "turn")
                speed[name].append(rows_a_second(turn.run(large)))
                turn.drop()
            for name in names:
                turn = Turn(spark, name, address, folder / "turn")
                progress = turn.run(small)
                empty[name] = statistics.median(one["batchDuration"] for one in progress[5:])
                turn.drop()
            for name in (one for one in names if one != "noop"):
                turn = Turn(spark, name, address, folder / "turn")
                with watched(turn, address) as found:
                    delay[name] = delay_ms(turn.run(small), found)
                turn.drop()
    shutil.rmtree(home, ignore_errors=True)
    report(speed, empty, delay)


def report(speed: dict, empty: dict, delay: dict) -> None:
    best = {name: max(turns[1:]) for name, turns in speed.items()}
    print(f"{TURNS} turns in one warm session on local[2], {os.cpu_count()} cores\n")
    print("| sink | rows/s | against | ms a nearly empty batch | seen after ms | against append |")
    print("|---|---|---|---|---|---|")
    for name, rate in best.items():
        other, seen = AGAINST.get(name), delay.get(name)
        ratio = f"{rate / best[other]:.2f} of {other}" if other in best else ""
        behind = f"{seen - delay['append_table']:+.0f}" if seen and "append_table" in delay else ""
        later = "" if seen is None else f"{seen:.0f}"
        print(f"| {name} | {rate:,.0f} | {ratio} | {empty[name]:.0f} | {later} | {behind} |")


if __name__ == "__main__":
    ours = [name for name in SINKS if find_sink(name).store != "kafka"]  # those: topic_speed.py
    given = sys.argv[2:] or ["noop", *ours, *FORMATS]
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1, given)
