"""The files that members start from, made once for each machine and version.

For Kafka these are a formatted storage file and a Java archive, for Spark a home and a Java
archive, for PostgreSQL its programs and an initialised data folder.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import shutil
import signal
import sys
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.kafka.admin import admin
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.setup.checks import Check, check_archive, refuse_unsound_spark
from onceproof.setup.jars import ensure_jars, read_lock
from onceproof.setup.java import Java, archive_path, ensure_archive, find_java
from onceproof.setup.making import Environment, ensure
from onceproof.setup.postgres import find_programs, refuse_closed, run_as
from onceproof.stacks.local.ports import free_ports
from onceproof.stacks.members import brokers, cluster, store
from onceproof.stacks.state import State
from onceproof.stacks.tools import KafkaTools, SparkTools, StoreTools, run_tool

log = logging.getLogger(__name__)


def kafka_tools(home: Path, *, is_quick: bool = True) -> KafkaTools:
    """Return the files that brokers start from; make those that are missing."""
    java = find_java()
    class_path = tuple(ensure_jars(home, ["brokers"])["brokers"])
    (kafka,) = (jar for jar in class_path if jar.name.startswith("kafka_2.13-"))
    bootstrap = home / "kafka" / f"{kafka.stem}.checkpoint"
    bare = KafkaTools(java.program, class_path, bootstrap, None, is_quick=True)
    ensure(home, bootstrap, lambda part, mark: _make_bootstrap(bare, part, mark))
    archive = archive_path(home, "broker", java, class_path)
    ensure_archive(home, archive, lambda part, mark: _dump_broker(bare, part / archive.name, mark))
    return replace(bare, archive=archive, is_quick=is_quick)


def check_broker_archive(home: Path) -> Check:
    """Check that a JVM uses the Java archive of the brokers."""
    java = find_java()
    jars = [jar.path(home) for jar in read_lock() if jar.set == "brokers"]
    archive = archive_path(home, "broker", java, jars)
    return check_archive("brokers", java, archive, ":".join(map(str, jars)))


def _make_bootstrap(tools: KafkaTools, place: Path, mark: Environment) -> None:
    # Kafka's own tool formats a folder; only the file with the feature levels is kept.
    lines = (
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9\n"
        "listeners=PLAIN://127.0.0.1:8,CONTROLLER://127.0.0.1:9\n"
        "listener.security.protocol.map=PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        "inter.broker.listener.name=PLAIN\ncontroller.listener.names=CONTROLLER\n"
    )
    (place / "format.properties").write_text(f"{lines}log.dirs={place}/data\n")
    command = [*brokers.java(tools, place), "kafka.tools.StorageTool", "format"]
    command += ["--cluster-id", brokers.new_id(), "--config", place / "format.properties"]
    run_tool(command, mark, "Kafka's StorageTool")
    (place / "data/bootstrap.checkpoint").rename(place / tools.bootstrap.name)


def _dump_broker(tools: KafkaTools, archive: Path, mark: Environment) -> None:
    # A broker that has loaded the usual classes writes the archive when its JVM exits.
    from kafka.errors import KafkaError

    log.info("making the Java archive of the brokers, once for this machine: about 10 s")
    ports = free_ports(f"broker:1/{kind}" for kind in brokers.LISTENERS)
    cluster_id = brokers.new_id()
    state = State.new(archive.parent, cluster_id=cluster_id, brokers=1, workers=0, ports=ports)
    launch = brokers.launch(state, 1, tools, f"-XX:ArchiveClassesAtExit={archive}")
    output = archive.parent / "output"
    process = spawn(launch.argv, log=output, env=mark, cwd=Path(launch.cwd))
    try:
        broker = brokers.Broker(state, 1)
        wait_for(lambda: not broker.trouble(), 60, "the first broker is not healthy")
        _exercise(broker.address)
        process.send(signal.SIGTERM)
        wait_for(lambda: not process.is_alive, 60, "the first broker does not stop")
    except (StackError, KafkaError) as error:
        raise StackError(f"{error}; its log: {output.read_text()[-1000:]}") from error
    finally:
        process.send(signal.SIGKILL)
    if not archive.exists():
        raise StackError(f"the broker's JVM wrote no archive: {output.read_text()[-1000:]}")


def _exercise(address: str) -> None:
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import NewTopic

    with closing(admin(Brokers((address,), PLAIN))) as client:
        client.create_topics([NewTopic("warm", 2, 1)])
        client.wait_for_topics(["warm"])
    producer = KafkaProducer(bootstrap_servers=address, acks="all", transactional_id="warm")
    producer.init_transactions()
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.send("warm", b"record").get(timeout=30)
        end()
    producer.close()
    consumer = KafkaConsumer(
        "warm",
        bootstrap_servers=address,
        group_id="warm",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    wait_for(lambda: consumer.poll(timeout_ms=500), 30, "the record was not read back")
    consumer.commit()
    consumer.close()


def spark_tools(home: Path, *, is_quick: bool = True) -> SparkTools:
    """Return the files that masters, workers, drivers and executors start from."""
    refuse_unsound_spark()
    java = find_java()
    jars = tuple(ensure_jars(home, ["spark"])["spark"])
    bare = SparkTools(java.program, _spark_home(home), jars, None, is_quick=True)
    archive = _archive(home, java, bare)
    ensure_archive(home, archive, lambda part, mark: _dump_spark(bare, part / archive.name, mark))
    return replace(bare, archive=archive, is_quick=is_quick)


def check_spark_archive(home: Path) -> Check:
    """Check that a JVM uses the Java archive of Spark."""
    java = find_java()
    jars = tuple(jar.path(home) for jar in read_lock() if jar.set == "spark")
    bare = SparkTools(java.program, _spark_home(home), jars, None, is_quick=True)
    archive = _archive(home, java, bare)
    return check_archive("Spark", java, archive, cluster.class_path(bare))


def _archive(home: Path, java: Java, tools: SparkTools) -> Path:
    class_path = [*tools.jars, *sorted((tools.home / "jars").iterdir())]
    return archive_path(home, "spark", java, class_path)


def _spark_home(home: Path) -> Path:
    # A folder of links, since `local-cluster` writes its executors' folders into SPARK_HOME, which
    # would otherwise be in site-packages.
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise RequestError("pyspark is not installed; run pip install 'onceproof[spark]'")
    source = Path(spec.submodule_search_locations[0])
    name = f"{importlib.metadata.version('pyspark')}-{sha256(bytes(source)).hexdigest()[:12]}"
    folder = home / "spark" / name
    return ensure(home, folder, lambda part, _: _link_all(source, part / name))


def _link_all(source: Path, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    for entry in source.iterdir():
        (folder / entry.name).symlink_to(entry)


def _dump_spark(tools: SparkTools, archive: Path, mark: Environment) -> None:
    # The JVM of a small driver with executors also loads the classes of masters and workers.
    log.info("making the Java archive of Spark, once for this machine: about 30 s")
    env = {**cluster.environment(tools), **mark}
    command = [sys.executable, "-m", "onceproof.spark.warm_up", archive, tools.java, tools.home]
    run_tool([*command, *tools.jars], env, "the first Spark driver")
    if not archive.exists():
        raise StackError(f"the first Spark driver's JVM wrote no archive to {archive}")


def store_tools(home: Path) -> StoreTools:
    """Return the files that PostgreSQL starts from; the data folder is made once and copied."""
    programs = find_programs(home)
    user = run_as()
    refuse_closed(home)
    digest = sha256(f"{programs}{(programs / 'postgres').stat().st_mtime_ns}{user}".encode())
    data = home / "postgres" / f"data-{digest.hexdigest()[:12]}"
    ensure(home, data, lambda part, mark: _initialise(programs, part / data.name, user, mark))
    return StoreTools(programs, data, user)


def _initialise(programs: Path, data: Path, user: dict[str, Any], mark: Environment) -> None:
    if user:
        shutil.chown(data.parent, user["user"], user["group"])
    command = [programs / "initdb", "-D", data, "-U", store.USER, "-A", "reject"]
    command += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
    run_tool(command, {**store.ENVIRONMENT, **mark}, "initdb", **user)
