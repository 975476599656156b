"""A small driver that loads the classes of drivers, executors, masters and workers for the archive.

Run as a program, `warm_up ARCHIVE JAVA SPARK_HOME JAR...`: its JVM writes the loaded classes when
it ends. They include those of master and workers, which a `local-cluster` runs in the driver's JVM.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from onceproof.setup.java import in_folder
from onceproof.spark.session import LOCAL_CLUSTER, spark_session
from onceproof.stacks.members.cluster import java_options
from onceproof.stacks.tools import SparkTools


def main(archive: Path, tools: SparkTools) -> None:
    """Run a stream with a window, a shuffle and a Python function, then write and read a file."""
    from pyspark.sql import functions

    folder = archive.parent
    dump = [*java_options(tools), in_folder(folder), f"-XX:ArchiveClassesAtExit={archive}"]
    more = {"spark.driver.extraJavaOptions": shlex.join(dump)}
    with spark_session(tools, LOCAL_CLUSTER, folder, more) as spark:
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
        while len(query.recentProgress) < 3:
            query.awaitTermination(0.05)  # raises the error of a failed query
        query.stop()
        spark.range(100).write.parquet(f"{folder}/parquet")
        spark.read.parquet(f"{folder}/parquet").count()


if __name__ == "__main__":
    to, java, home, *jars = map(Path, sys.argv[1:])
    main(to, SparkTools(java, home, tuple(jars), None, is_quick=True))
