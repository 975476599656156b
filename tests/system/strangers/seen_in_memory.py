"""Orders from Kafka into PostgreSQL; the numbers of written batches are kept in memory only."""

import argparse

import psycopg
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "topic", "checkpoint", "database", "table"):
    parser.add_argument(f"--{name}", required=True)
args = parser.parse_args()
spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("subscribe", args.topic)
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 400)
    .load()
    .select(F.from_json(F.col("value").cast("string"), "order_id long, amount double").alias("o"))
    .select("o.*")
)
written = set()


def write_once(batch, batch_id):
    if batch_id in written:
        return
    rows = [(row.order_id, row.amount) for row in batch.collect()]
    with psycopg.connect(args.database) as connection:
        connection.cursor().executemany(
            f"insert into {args.table} (order_id, amount) values (%s, %s)", rows
        )
    written.add(batch_id)


query = orders.writeStream.foreachBatch(write_once).option("checkpointLocation", args.checkpoint)
query.start().awaitTermination()
