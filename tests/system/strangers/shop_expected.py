"""The expected outputs of the shop, from the rows of both topics."""

from pyspark.sql import functions as F


def read(events, fields):
    return events.select(F.from_json("value", fields).alias("v")).select("v.*")


def paid(orders, payments):
    sold = read(orders, "order_id long, amount double, at timestamp")
    settled = read(payments, "order_id long, paid double, paid_at timestamp")
    near = F.abs(F.col("paid_at").cast("double") - F.col("at").cast("double")) <= 3600
    return sold.join(settled, "order_id").where(near).select("order_id", "amount", "paid")


def seen(orders):
    return read(orders, "order_id long, amount double, at timestamp").select("order_id", "amount")


def _sorted(events, state):
    sold = read(events, "order_id long, amount double, state string")
    return sold.where(F.col("state") == state).select("order_id", "amount")


def facts(events):
    return _sorted(events, "good")


def rejects(events):
    return _sorted(events, "bad")
