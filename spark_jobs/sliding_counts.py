"""The events and the amount of each app in the last 4 seconds, every second; 2 seconds lateness."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

COLUMNS = {"app": "string", "window_end_ms": "bigint", "events": "bigint", "amount": "bigint"}
KEY = ("app", "window_end_ms")
VERSION = None
MODE = "append"


def stream(events: DataFrame) -> DataFrame:
    """Return a row for each window of each app, once the watermark has passed the window's end."""
    timed = events.withColumn("time", F.timestamp_millis("event_ms"))
    counts = (
        timed.withWatermark("time", "2 seconds")
        .groupBy("key", F.window("time", "4 seconds", "1 second"))
        .agg(F.count("*").alias("events"), F.sum("amount").alias("amount"))
    )
    end = F.unix_millis("window.end").alias("window_end_ms")
    return counts.select(F.col("key").alias("app"), end, "events", "amount")
