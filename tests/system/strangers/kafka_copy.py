"""Orders from one topic of Kafka to another, with Spark's own sink."""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "topic", "checkpoint", "to"):
    parser.add_argument(f"--{name}", required=True)
args = parser.parse_args()
spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("subscribe", args.topic)
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 4000)
    .load()
    .select("key", F.col("value"))
)
query = (
    orders.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("topic", args.to)
    .option("checkpointLocation", args.checkpoint)
)
query.start().awaitTermination()
