"""The expected output of the merge: each order with its amount."""

from pyspark.sql import functions as F


def orders(events):
    value = F.from_json("value", "order_id long, amount double")
    return events.select(value.alias("o")).select("o.*")
