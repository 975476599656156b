"""Orders into PostgreSQL through JDBC, by a job that needs two secrets.

It logs its secrets, as a careless job does, and fails if an executor has other ones.
"""

import argparse
import hashlib
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "topic", "checkpoint", "jdbc", "table", "word", "digest"):
    parser.add_argument(f"--{name}", required=True)
args = parser.parse_args()
digest = args.digest
given = os.environ
sys.stdout.write(f"my secrets: {given['SHOP_PASSWORD']} {given['SHOP_URL']} {args.word}\n")
sys.stdout.write(f"the store's: {given['PGPASSWORD']}\n")
assert hashlib.sha256(args.word.encode()).hexdigest() == digest
spark = SparkSession.builder.appName("orders").getOrCreate()


def looked_up(order):
    """Check the secret in the environment of an executor."""
    import hashlib
    import os

    assert hashlib.sha256(os.environ["SHOP_PASSWORD"].encode()).hexdigest() == digest
    return order


orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("subscribe", args.topic)
    .option("startingOffsets", "earliest")
    .load()
    .select(F.udf(looked_up, "string")(F.col("value").cast("string")).alias("value"))
    .select(F.from_json("value", "order_id long, amount double").alias("o"))
    .select("o.*")
)


def append(batch, batch_id):
    write = batch.write.format("jdbc").option("url", args.jdbc).option("dbtable", args.table)
    write.option("driver", "org.postgresql.Driver").mode("append").save()


query = orders.writeStream.foreachBatch(append).option("checkpointLocation", args.checkpoint)
query.start().awaitTermination()
