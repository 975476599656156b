"""The views of each app so far, a new row whenever the count has changed; without a watermark."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

COLUMNS = {"app": "string", "views": "bigint"}
KEY = ("app",)
VERSION = "views"  # only grows within an app
MODE = "update"


def stream(events: DataFrame) -> DataFrame:
    """Return a row for each app with events in this batch, with the number of all its views."""
    return events.groupBy(F.col("key").alias("app")).agg(F.count("*").alias("views"))
