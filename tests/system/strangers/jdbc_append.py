"""Orders from Kafka into PostgreSQL, each batch appended through JDBC."""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "topic", "checkpoint", "jdbc", "table"):
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


def append(batch, batch_id):
    (
        batch.write.format("jdbc")
        .option("url", args.jdbc)
        .option("dbtable", args.table)
        .option("driver", "org.postgresql.Driver")
        .mode("append")
        .save()
    )


query = orders.writeStream.foreachBatch(append).option("checkpointLocation", args.checkpoint)
query.start().awaitTermination()
