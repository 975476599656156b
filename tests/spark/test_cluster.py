"""Spark on the stack: executors in separate processes, and a batch that outlives one of them."""

import signal
import threading
import time
from pathlib import Path

import pytest
from kafka import KafkaProducer

from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.spark.session import LOCAL_CLUSTER, spark_session
from onceproof.stacks.members.cluster import executors
from onceproof.stacks.members.programs import spark_tools
from tests.contract.topics import make_topic

pytestmark = [pytest.mark.stack, pytest.mark.spark]
RECORDS = 10_000


@pytest.fixture(scope="module")
def topic(warm_stack):
    name = make_topic(warm_stack.brokers, "read-by-spark")
    producer = KafkaProducer(bootstrap_servers=warm_stack.brokers.bootstrap, acks="all")
    for number in range(RECORDS):
        producer.send(name, b"%d" % number)
    producer.flush(60)
    producer.close()
    return name


def read(spark, stack, topic):
    source = spark.read.format("kafka").option("subscribe", topic)
    source = source.option("kafka.bootstrap.servers", stack.brokers.bootstrap)
    return source.load().selectExpr("cast(value as string) as value")


def counts(frame):
    (row,) = frame.selectExpr("count(*) as rows", "count(distinct value) as values").collect()
    return row.rows, row["values"]


def test_a_batch_outlives_the_kill_of_one_of_its_executors(stack, topic, tmp_path):
    tools = spark_tools(onceproof_home())
    found: list[tuple[int, int]] = []
    with spark_session(tools, stack.members["master"].address, tmp_path) as spark:
        frame = read(spark, stack, topic).repartition(4).mapInPandas(hold(tmp_path), "value string")
        batch = threading.Thread(target=lambda: found.append(counts(frame)))
        batch.start()
        wait_for(lambda: len(list(tmp_path.glob("task-*"))) >= 2, 60, "no two tasks run")
        application = spark.sparkContext.applicationId
        before = executors(stack.state.processes(), application)
        victim = before[min(before)]
        assert victim.maps_file(tools.archive)
        driver = spark.sparkContext._gateway.proc.pid
        assert places_of_lz4(driver) == {tmp_path}
        assert places_of_lz4(victim.pid) == {Path(f"/proc/{victim.pid}/cwd").readlink()}
        victim.send(signal.SIGKILL)
        wait_for(
            lambda: executors(stack.state.processes(), application).keys() - before.keys(),
            60,
            "no executor replaces the killed one",
        )
        (tmp_path / "go").touch()
        batch.join(120)
    assert len(before) == 2
    assert found == [(RECORDS, RECORDS)]


def places_of_lz4(pid: int) -> set[Path]:
    """Return the folders to which this JVM unpacked its native library for compression."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    found = (line.split()[-1] for line in maps.splitlines() if "liblz4" in line)
    return {Path(file).parent for file in found}


def hold(folder: Path):
    """Return a function whose tasks mark that they run, and wait until they may go on."""

    def run(frames):
        from pyspark import TaskContext

        (folder / f"task-{TaskContext.get().taskAttemptId()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.05)
        yield from frames

    return run


def test_a_local_cluster_reads_too_and_leaves_nothing(stack, topic, tmp_path):
    tools = spark_tools(onceproof_home())
    with spark_session(tools, LOCAL_CLUSTER, tmp_path / "spark") as spark:
        application = spark.sparkContext.applicationId
        assert counts(read(spark, stack, topic)) == (RECORDS, RECORDS)
        assert (tools.home / "work" / application).exists()
    assert not (tools.home / "work" / application).exists()
    assert list((tmp_path / "spark").glob("*")) == []
