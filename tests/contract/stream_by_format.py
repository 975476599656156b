"""A standalone job: a stream of files, written by `format("onceproof_two_phase")`.

argv: the input, a folder for Spark, and the options as JSON.
"""

import json
import sys
from pathlib import Path

from onceproof.machine.home import onceproof_home
from onceproof.sinks.data_source import register
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools


def start(spark, folder, options):
    """Start the query: one file per batch, in two tasks."""
    rows = spark.readStream.schema("name string, views bigint").option("maxFilesPerTrigger", 1)
    return written(rows.csv(str(folder)).repartition(2), options, "append", availableNow=True)


def written(rows, options, mode, **trigger):
    """Start a query that writes these rows."""
    register(rows.sparkSession)
    query = rows.writeStream.format("onceproof_two_phase").options(**options)
    return query.outputMode(mode).trigger(**trigger).start()


if __name__ == "__main__":
    tools = spark_tools(onceproof_home())
    with spark_session(tools, "local[2]", Path(sys.argv[2])) as session:
        start(session, sys.argv[1], json.loads(sys.argv[3])).awaitTermination()
