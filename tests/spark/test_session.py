"""A Spark session in a process that had another session before."""

import pytest

from onceproof.machine.home import onceproof_home
from onceproof.spark.session import spark_session
from onceproof.stacks.members.programs import spark_tools

pytestmark = pytest.mark.spark


def test_the_jvm_of_an_earlier_session_is_not_used(tmp_path):
    from pyspark.sql import SparkSession

    bare = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    bare.config("spark.sql.warehouse.dir", str(tmp_path / "bare")).getOrCreate().stop()
    tools = spark_tools(onceproof_home())
    with spark_session(tools, "local[1]", tmp_path / "spark") as spark:
        source = spark.readStream.format("kafka").option("subscribe", "any")
        read = source.option("kafka.bootstrap.servers", "127.0.0.1:1").load()
        assert "partition" in read.columns
