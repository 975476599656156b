"""Orders from one topic of Kafka to another with Spark's own sink, each looked up on the way."""

import argparse
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "topic", "checkpoint", "to"):
    parser.add_argument(f"--{name}", required=True)
args = parser.parse_args()
few_at_once = ("spark.sql.execution.arrow.maxRecordsPerBatch", 20)  # small batches for the function
spark = SparkSession.builder.appName("orders").config(*few_at_once).getOrCreate()


def look_up(order):
    time.sleep(0.002)  # the time of a lookup in a cache
    return order


orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("subscribe", args.topic)
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 4000)
    .load()
    .select("key", F.udf(look_up, "binary")("value").alias("value"))
)
query = (
    orders.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("topic", args.to)
    .option("checkpointLocation", args.checkpoint)
)
query.start().awaitTermination()
