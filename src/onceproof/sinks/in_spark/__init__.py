"""The part of the sinks that runs inside Spark, on the driver and in tasks."""
