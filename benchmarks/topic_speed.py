"""Costs of topic sinks: rows per second, time of a nearly empty batch, delay until it is visible.

Argument: millions of rows a turn (default: 1). It uses one warm session on local[2] without quick
settings, and three brokers; all sinks write the same stream of parquet files, in turns, to a topic
with four partitions. The first batch of a turn and the first turn do not count; the faster of the
other turns does. `append_topic` is Spark's own Kafka sink with its defaults, `with linger` the same
with the linger and batch size of `two_phase_topic`. A batch is visible when a read_committed reader
has all of its rows.
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

from sink_speed import (
    BATCHES,
    COLUMNS,
    SCHEMA,
    SETTINGS,
    SMALL_BATCHES,
    TASKS,
    TURNS,
    make_input,
    rows_a_second,
)

from onceproof.machine.home import onceproof_home
from onceproof.sinks import Target, find_sink
from onceproof.spark.session import spark_session
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.programs import spark_tools

TUNED = {"kafka.linger.ms": "20", "kafka.batch.size": "262144"}
KINDS = {
    "append_topic": ("append_topic", {}),
    "append_topic with linger": ("append_topic", TUNED),
    "two_phase_topic": ("two_phase_topic", {}),
    "wal_topic": ("wal_topic", {}),
}


class Turn:
    """One sink, its topic and its query over one input."""

    def __init__(self, spark, name: str, address: str, folder: Path, number: int) -> None:
        self.spark, self.folder = spark, folder
        folder.mkdir()
        kind, options = KINDS[name]
        at = {"attempt": 1, "checkpoint": str(folder / "checkpoint"), "options": options}
        self.sink = find_sink(kind)(Target(address, f"bench.rows{number}", COLUMNS, ("id",), **at))
        self.sink.prepare()

    def run(self, source: Path) -> list[dict]:
        """Write all of the input and return the progress of each batch that had rows."""
        rows = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", TASKS)
        stream = rows.parquet(str(source)).writeStream.foreachBatch(self.sink.write)
        query = stream.option("checkpointLocation", self.sink.target.checkpoint).start()
        query.processAllAvailable()
        query.stop()
        if query.exception():
            sys.exit(f"{self.sink.target.name}: {query.exception()}")
        progress = [json.loads(one.json) for one in query.recentProgress]
        return [one for one in progress if one["numInputRows"]]

    def drop(self) -> None:
        """Remove its output and folder."""
        self.sink.drop()
        shutil.rmtree(self.folder)

    @contextmanager
    def watched(self):
        """Record when each batch becomes completely visible, by polling as often as possible."""
        found: dict[int, float] = {}
        counts: Counter[int] = Counter()
        is_over = threading.Event()

        def look() -> None:
            reader = self.sink.reader()
            while not is_over.wait(0.002):
                counts.update(reader.look().rows.column("batch").to_pylist())
                for batch, count in counts.items():
                    if count >= 2 * TASKS:
                        found.setdefault(batch, time.time())
            reader.close()

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield found
        finally:
            is_over.set()
            thread.join()


def seen_after_ms(progress: list[dict], found: dict[int, float]) -> float:
    starts = {one["batchId"]: datetime.fromisoformat(one["timestamp"]) for one in progress[5:]}
    later = [found[batch] - at.timestamp() for batch, at in starts.items() if batch in found]
    return statistics.median(later) * 1e3 if later else float("nan")


def measured(spark, address: str, folder: Path, large: Path, small: Path) -> list[dict]:
    speed: dict[str, list[float]] = {name: [] for name in KINDS}
    numbers = iter(range(1000))
    for name in [*KINDS] * TURNS:
        turn = Turn(spark, name, address, folder / "turn", next(numbers))
        speed[name].append(rows_a_second(turn.run(large)))
        print(name, f"{speed[name][-1]:,.0f} rows/s", file=sys.stderr)
        turn.drop()
    rows = []
    for name in KINDS:
        turn = Turn(spark, name, address, folder / "turn", next(numbers))
        with turn.watched() as found:
            progress = turn.run(small)
        empty = statistics.median(one["batchDuration"] for one in progress[5:])
        rows.append({"name": name, "rate": max(speed[name][1:]), "empty": empty})
        rows[-1]["seen"] = seen_after_ms(progress, found)
        turn.drop()
    return rows


def main(millions: float) -> None:
    home = onceproof_home() / f"bench-topics-{os.getpid()}"
    with tempfile.TemporaryDirectory() as scratch, LocalStack.up(home, without=["spark"]) as stack:
        folder, address = Path(scratch), stack.brokers.bootstrap
        large = make_input(folder / "large", BATCHES, int(millions * 1e6) // BATCHES)
        small = make_input(folder / "small", SMALL_BATCHES, 2 * TASKS)
        tools = spark_tools(onceproof_home(), is_quick=False)
        with spark_session(tools, "local[2]", folder / "spark", SETTINGS) as spark:
            spark.sparkContext.setLogLevel("OFF")
            report(measured(spark, address, folder, large, small))
    shutil.rmtree(home, ignore_errors=True)


def report(rows: list[dict]) -> None:
    rates = {one["name"]: one["rate"] for one in rows}
    print(f"{TURNS} turns in one warm session on local[2], {os.cpu_count()} cores\n")
    print(
        "| sink | rows/s | of append_topic | of it with linger | ms a nearly empty batch |", end=""
    )
    print(" seen after ms |\n|---|---|---|---|---|---|")
    for one in rows:
        shares = [one["rate"] / rates[name] for name in list(KINDS)[:2]]
        cells = [one["name"], f"{one['rate']:,.0f}", *(f"{share:.2f}" for share in shares)]
        print(f"| {' | '.join(cells)} | {one['empty']:.0f} | {one['seen']:.0f} |")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1)
