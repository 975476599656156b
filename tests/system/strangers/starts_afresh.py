"""Orders from Kafka into parquet; an old checkpoint "only makes trouble", so it is removed."""

import argparse
import shutil

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "topic", "checkpoint", "folder"):
    parser.add_argument(f"--{name}", required=True)
args = parser.parse_args()
shutil.rmtree(args.checkpoint, ignore_errors=True)
spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", args.brokers)
    .option("subscribe", args.topic)
    .option("maxOffsetsPerTrigger", 400)
    .load()
    .select(F.from_json(F.col("value").cast("string"), "order_id long, amount double").alias("o"))
    .select("o.*")
)


def append(batch, batch_id):
    batch.write.mode("append").parquet(args.folder)


query = orders.writeStream.foreachBatch(append).option("checkpointLocation", args.checkpoint)
query.start().awaitTermination()
