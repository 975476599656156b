"""Starts a pipeline of this folder: Kafka to a sink, with a checkpoint, until it is ended.

    python stream.py app_views --bootstrap HOST:PORT --topic events --checkpoint FOLDER \
        --sink upsert_table --address postgresql://... --target schema.table --set max_offsets=2000

Each pipeline declares its output: `COLUMNS` with their types, `KEY`, `VERSION` and the output
`MODE`. They do not come from the reference, so that a mistake in one of the two is detected.
Master, memory and class path come from Spark's own settings, so it runs in any Spark.
"""

import argparse
import importlib
import os
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from onceproof.kafka.forgetting import ADDRESS
from onceproof.kafka.security import in_environment
from onceproof.sinks import OwnQuery, Target, find_sink
from onceproof.spark.taken_once import NAME, register
from onceproof.variables import resolve

EVENT = "id bigint, producer int, key string, seq bigint, event_ms bigint, amount bigint"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
STATE_STORES = {
    "hdfs": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pipeline")
    for name in ("bootstrap", "topic", "checkpoint", "sink", "address", "target"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("set", "sink-set", "source-set"):
        parser.add_argument(f"--{name}", action="append", default=[], metavar="NAME=VALUE")
    return parser.parse_args()


def pairs(words: list[str]) -> list[list[str]]:
    return [word.split("=", 1) for word in words]


def session(name: str, state_store: str) -> SparkSession:
    store, _, changelog = state_store.partition("_")
    return (
        SparkSession.builder.appName(name)
        .config("spark.sql.streaming.stateStore.providerClass", STATE_STORES[store])
        .config(CHANGELOG, str(changelog == "changelog").lower())
        .getOrCreate()
    )


def events(spark: SparkSession, given: argparse.Namespace, options: dict[str, str]) -> DataFrame:
    read = taken_once if options.get("source") == "taken_once" else from_kafka
    return parsed(read(spark, given, options.get("max_offsets", "10000")))


def parsed(records: DataFrame) -> DataFrame:
    """Return the event of each record; tombstones and records that do not parse are dropped."""
    value = F.from_json(F.col("value").cast("string"), EVENT)
    return records.select(value.alias("event")).select("event.*").where("id is not null")


def from_kafka(spark: SparkSession, given: argparse.Namespace, max_offsets: str) -> DataFrame:
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", given.bootstrap)
        .options(**in_environment().for_spark())
        .option("subscribe", given.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", max_offsets)
        .options(**{name: resolve(one) for name, one in pairs(given.source_set)})
        .load()
    )


def taken_once(spark: SparkSession, given: argparse.Namespace, max_offsets: str) -> DataFrame:
    register(spark)
    source = spark.readStream.format(NAME).option("address", os.environ[ADDRESS])
    return source.option("topic", given.topic).option("most", max_offsets).load()


def main() -> None:
    given = arguments()
    options, of_the_sink = dict(pairs(given.set)), dict(pairs(given.sink_set))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    pipeline = importlib.import_module(given.pipeline)
    kind = find_sink(given.sink)
    security = in_environment().for_topics() if kind.store == "kafka" else {}
    target = Target(
        resolve(given.address),  # executors do not have its variables
        given.target,
        pipeline.COLUMNS,
        pipeline.KEY,
        pipeline.VERSION,
        attempt=int(os.environ.get("ONCEPROOF_ATTEMPT", "1")),
        options={name: resolve(one) for name, one in (security | of_the_sink).items()},
        checkpoint=given.checkpoint,
    )
    sink = kind(target)
    spark = session(given.pipeline, options.get("state_store", "hdfs"))
    rows = pipeline.stream(events(spark, given, options))
    trigger = options.get("trigger", "0 seconds")
    if isinstance(sink, OwnQuery):
        query = sink.start(rows, pipeline.MODE, trigger)
    else:
        query = (
            rows.writeStream.outputMode(pipeline.MODE)
            .foreachBatch(sink.write)
            .option("checkpointLocation", given.checkpoint)
            .trigger(processingTime=trigger)
            .start()
        )
    query.awaitTermination()


if __name__ == "__main__":
    main()
