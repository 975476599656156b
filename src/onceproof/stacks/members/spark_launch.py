"""How Spark's JVMs are started, those of a driver and its executors included.

They are started directly: `spark-class` would start one more JVM only to build the command line.
"""

from __future__ import annotations

import sys
from typing import Any

from onceproof.setup.java import QUICK, TIDY, in_folder
from onceproof.stacks.members.cluster import Master, Worker
from onceproof.stacks.state import Launch, State
from onceproof.stacks.tools import SparkTools

WORKER_MEMORY = "1g"
# Of two applications on the stack at once, each gets an executor of one core on every worker.
CORES = 2
_HEAP = ("-Xms32m", "-Xmx128m", "-Xss512k")
# A port that is taken is an error, not a reason to take the next one; and the master's second door
# for jobs would have a fixed port, one for the whole machine.
_NO_OTHER_PORTS = ("-Dspark.port.maxRetries=0", "-Dspark.master.rest.enabled=false")
# A worker keeps what executors left where they ran for an hour, not for a week.
_CLEARED = ("-Dspark.worker.cleanup.enabled=true", "-Dspark.worker.cleanup.appDataTtl=3600")
_DEPLOY = "org.apache.spark.deploy"


def launch_master(state: State, tools: SparkTools) -> Launch:
    """Return how the master is started."""
    arguments = ["--host", state.host("master"), "--port", state.ports["master"]]
    arguments += ["--webui-port", state.ports["master/web"]]
    main = [f"{_DEPLOY}.master.Master", *arguments]
    return _launch(state, tools, "master", main, state.host("master"))


def launch_worker(state: State, number: int, tools: SparkTools) -> Launch:
    """Return how a worker is started."""
    worker = Worker(state, number)
    place = state.place(worker.name)
    arguments = ["--host", worker.host, "--webui-port", state.ports[f"{worker.name}/web"]]
    arguments += ["--cores", CORES, "--memory", WORKER_MEMORY, "--work-dir", place / "work"]
    main = [*_CLEARED, f"{_DEPLOY}.worker.Worker", *arguments, Master(state).address]
    return _launch(state, tools, worker.name, main, worker.host)


def _launch(state: State, tools: SparkTools, name: str, main: list[Any], host: str) -> Launch:
    place = state.place(name)
    (place / "tmp").mkdir(parents=True, exist_ok=True)
    argv = [
        *(*java_command(tools), *_HEAP, *_NO_OTHER_PORTS, in_folder(place / "tmp")),
        *("-cp", class_path(tools), *main),
    ]
    env = environment(tools) | {
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(place / "tmp"),
    }
    return Launch([str(part) for part in argv], env, str(place))


def java_command(tools: SparkTools) -> list[Any]:
    """Return the command of a Spark JVM up to its heap."""
    return [tools.java, *java_options(tools)]


def java_options(tools: SparkTools) -> list[str]:
    """Return the options that master, workers, drivers and executors have in common."""
    archive = [f"-XX:SharedArchiveFile={tools.archive}"] if tools.archive else []
    return [*TIDY, *(QUICK if tools.is_quick else ()), *archive]


def class_path(tools: SparkTools) -> str:
    """Return the class path that Spark's launcher gives to drivers and executors.

    To the letter, slf4j before the rest: a Java archive is taken only under the very class path
    that it was made with.
    """
    (first,) = (tools.home / "jars").glob("slf4j-api-*.jar")
    own = [*tools.jars, tools.home / "conf", first, tools.home / "jars" / "*"]
    return ":".join(map(str, own))


def environment(tools: SparkTools) -> dict[str, str]:
    """Return what every Spark process must find in its environment, drivers included."""
    return {
        "JAVA_HOME": str(tools.java.parent.parent),
        "SPARK_HOME": str(tools.home),
        "SPARK_SCALA_VERSION": "2.13",  # Spark's scripts would set it, and we start no script
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
