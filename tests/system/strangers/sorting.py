"""Orders sorted by each batch into facts, merged into a table, and rejects, appended to a topic."""

import argparse

import psycopg
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

parser = argparse.ArgumentParser()
for name in ("brokers", "topic", "checkpoint", "database", "facts", "rejects"):
    parser.add_argument(f"--{name}", required=True)
args = parser.parse_args()
spark = SparkSession.builder.appName("sorting").getOrCreate()
kafka = {"kafka.bootstrap.servers": args.brokers}
orders = (
    spark.readStream.format("kafka")
    .options(**kafka, subscribe=args.topic, startingOffsets="earliest", maxOffsetsPerTrigger=400)
    .load()
    .select(F.col("value").cast("string").alias("value"))
    .select("value", F.from_json("value", "order_id long, amount double, state string").alias("o"))
)
MERGE = f"""insert into {args.facts} (order_id, amount) values (%s, %s)
    on conflict (order_id) do update set amount = excluded.amount"""


def write(batch, batch_id):
    batch.persist()
    good = batch.where("o.state = 'good'").select("o.order_id", "o.amount").collect()
    with psycopg.connect(args.database) as connection:
        connection.cursor().executemany(MERGE, [tuple(row) for row in good])
    bad = batch.where("o.state = 'bad'").select("value")
    bad.write.format("kafka").options(**kafka, topic=args.rejects).save()
    batch.unpersist()


query = orders.writeStream.foreachBatch(write).option("checkpointLocation", args.checkpoint)
query.start().awaitTermination()
