"""A shop: each order with its payment into one table, and all orders into another; one driver."""

import argparse

import psycopg
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "orders", "payments", "database", "paid", "seen"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--checkpoint", action="append", required=True)
parser.add_argument("--appends", action="store_true", help="write seen rows without their key")
args = parser.parse_args()
spark = SparkSession.builder.appName("shop").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 2)


def read(topic, fields):
    kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", args.brokers)
    rows = kafka.option("subscribe", topic).option("startingOffsets", "earliest")
    value = F.from_json(F.col("value").cast("string"), fields).alias("v")
    return rows.option("maxOffsetsPerTrigger", 300).load().select(value).select("v.*")


def written_to(table, columns, *, appends=False):
    names, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
    sql = f"insert into {table} ({names}) values ({places})"
    sql += "" if appends else " on conflict (order_id) do nothing"

    def write(batch, batch_id):
        rows = [tuple(row) for row in batch.select(*columns).collect()]
        with psycopg.connect(args.database) as connection:
            connection.cursor().executemany(sql, rows)

    return write


orders = read(args.orders, "order_id long, amount double, at timestamp")
payments = read(args.payments, "order_id long, paid double, paid_at timestamp").withColumnRenamed(
    "order_id", "of_order"
)
paid = orders.withWatermark("at", "1 hour").join(
    payments.withWatermark("paid_at", "1 hour"),
    F.expr("of_order = order_id and paid_at between at - interval 1 hour and at + interval 1 hour"),
)
queries = (
    (paid, written_to(args.paid, ["order_id", "amount", "paid"])),
    (orders, written_to(args.seen, ["order_id", "amount"], appends=args.appends)),
)
for (rows, write), checkpoint in zip(queries, args.checkpoint, strict=True):
    rows.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint).start()
spark.streams.awaitAnyTermination()
