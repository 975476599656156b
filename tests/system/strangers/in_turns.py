"""Orders from Kafka into PostgreSQL, in a job that a scheduler starts again and again.

Each run takes what there is, and ends. `--write merge` is right; `append` doubles a batch that runs
again.
"""

import argparse

import psycopg
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "topic", "checkpoint", "database", "table"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--write", choices=("merge", "append"), required=True)
args = parser.parse_args()
spark = SparkSession.builder.appName("orders in turns").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("subscribe", args.topic)
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 100)
    .load()
    .select(F.from_json(F.col("value").cast("string"), "order_id long, amount double").alias("o"))
    .select("o.*")
)


INSERT = f"insert into {args.table} (order_id, amount) values (%s, %s)"
MERGE = f"{INSERT} on conflict (order_id) do update set amount = excluded.amount"


def write(batch, batch_id):
    with psycopg.connect(args.database, autocommit=True) as connection:
        for row in batch.collect():
            connection.execute(
                MERGE if args.write == "merge" else INSERT, (row.order_id, row.amount)
            )


query = (
    orders.writeStream.foreachBatch(write)
    .option("checkpointLocation", args.checkpoint)
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
