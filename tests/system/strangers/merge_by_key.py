"""Orders from Kafka into PostgreSQL, each merged by its id."""

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
MERGE = f"""insert into {args.table} (order_id, amount) values (%s, %s)
    on conflict (order_id) do update set amount = excluded.amount"""


def merge(batch, batch_id):
    rows = [(row.order_id, row.amount) for row in batch.collect()]
    with psycopg.connect(args.database) as connection:
        connection.cursor().executemany(MERGE, rows)


query = orders.writeStream.foreachBatch(merge).option("checkpointLocation", args.checkpoint)
query.start().awaitTermination()
