"""One small driver that loads what drivers, executors, masters and workers need, for the archive.

Run as a program, with its environment and options made by who calls it; the JVM writes the classes
it has loaded when it ends.
"""

from __future__ import annotations

import os
import sys

from onceproof.setup.java import QUICK, TIDY
from onceproof.spark.settings import SMALL


def main(folder: str) -> None:
    """Run a stream with a window, a shuffle and a Python function on executors of its own."""
    from pyspark.sql import SparkSession, functions

    dump = f"-XX:ArchiveClassesAtExit={os.environ['ONCEPROOF_DUMP']}"
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in SMALL.items():
        builder = builder.config(name, value)
    jars = os.environ["ONCEPROOF_SPARK_JARS"]
    builder = builder.config("spark.driver.extraClassPath", jars)
    builder = builder.config("spark.executor.extraClassPath", jars)
    builder = builder.config("spark.executor.extraJavaOptions", " ".join((*TIDY, *QUICK)))
    builder = builder.config("spark.driver.extraJavaOptions", " ".join((*TIDY, *QUICK, dump)))
    spark = builder.getOrCreate()
    double = functions.udf(lambda value: value * 2, "long")
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
    counts = (
        rate.select(double("value").alias("value"), "timestamp")
        .withWatermark("timestamp", "1 second")
        .groupBy(functions.window("timestamp", "4 seconds"), "value")
        .count()
    )
    query = (
        counts.writeStream.outputMode("update")
        .foreachBatch(lambda frame, _: frame.write.format("noop").mode("append").save())
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(processingTime="0 seconds")
        .start()
    )
    while len(query.recentProgress) < 3 and query.isActive:
        query.awaitTermination(0.05)
    if query.exception() is not None:
        raise SystemExit(str(query.exception()))
    query.stop()
    spark.range(100).write.parquet(f"{folder}/parquet")
    spark.read.parquet(f"{folder}/parquet").count()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
