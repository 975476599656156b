"""Spark standalone: a master, and workers on separate loopback addresses.

Spark places a speculative copy only on another host, so each worker has its own: 127.0.0.1,
127.0.0.2. JVMs are started directly: `spark-class` would start one more just to build the command
line.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from onceproof.machine.identity import Identity
from onceproof.setup.java import QUICK, TIDY, in_folder
from onceproof.stacks import VERBS
from onceproof.stacks.state import Launch, State
from onceproof.stacks.tools import SparkTools

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
WORKER_MEMORY = "1g"
# So each of two concurrent applications gets an executor with one core on every worker.
CORES = 2
_HEAP = ("-Xms32m", "-Xmx128m", "-Xss512k")
# A port in use is an error; Spark would take the next one. The master's REST server would have the
# same fixed port in every stack.
_NO_OTHER_PORTS = ("-Dspark.port.maxRetries=0", "-Dspark.master.rest.enabled=false")
# A worker keeps the work folders of executors for an hour, not for a week.
_CLEARED = ("-Dspark.worker.cleanup.enabled=true", "-Dspark.worker.cleanup.appDataTtl=3600")
_DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True)
class Master:
    """The one Spark master of the stack."""

    state: State

    kind = "master"
    name = "master"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def address(self) -> str:
        """The master URL for drivers and workers."""
        return f"spark://{self.state.host(self.name)}:{self.state.ports['master']}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        host = self.state.host(self.name)
        return [(host, self.state.ports[name]) for name in ("master", "master/web")]

    def needs(self, running: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """Return nothing: it needs no other member."""
        return ""

    def remove_leftovers(self) -> None:
        """Do nothing: no leftovers prevent a start."""

    def family(self, main: Identity | None) -> list[Identity]:
        """Return its processes: one JVM."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Return why the master is not healthy."""
        page = self.listens_on[1]
        try:
            status = page_of(*page)["status"]
        except (OSError, ValueError) as error:
            return f"does not respond on web port {page[1]}: {error}"
        return "" if status == "ALIVE" else f"is {status}"

    def alive_workers(self) -> list[str]:
        """Return the hosts of the workers that the master considers alive."""
        workers = page_of(*self.listens_on[1])["workers"]
        return [worker["host"] for worker in workers if worker["state"] == "ALIVE"]


@dataclass(frozen=True)
class Worker:
    """A Spark worker with two cores, for executors with one core each."""

    state: State
    number: int

    kind = "worker"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def name(self) -> str:
        """`worker:N`."""
        return f"worker:{self.number}"

    @property
    def host(self) -> str:
        """Its own host, or its own loopback address."""
        return self.state.hosts.get(self.name, f"127.0.0.{self.number}")

    @property
    def address(self) -> str:
        """The address of its web page."""
        return f"{self.host}:{self.state.ports[f'{self.name}/web']}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        return [(self.host, self.state.ports[f"{self.name}/web"])]

    def needs(self, running: Collection[str]) -> str:
        """Return that the master is missing; empty if it is running."""
        return "" if "master" in running else "the master"

    def remove_leftovers(self) -> None:
        """Do nothing: no leftovers prevent a start."""

    def family(self, main: Identity | None) -> list[Identity]:
        """Return its processes: the worker's JVM, without its executors."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Return why the worker is not healthy: it must respond and be registered at the master."""
        try:
            page_of(*self.listens_on[0])
        except (OSError, ValueError) as error:
            return f"does not respond at {self.address}: {error}"
        try:
            is_registered = self.host in Master(self.state).alive_workers()
        except (OSError, ValueError) as error:
            return f"cannot be checked, the master does not respond: {error}"
        return "" if is_registered else "is not alive according to the master"


def is_executor(one: Identity) -> bool:
    """Return whether a process is an executor's JVM, of any application."""
    return EXECUTOR in one.arguments()


def executors(candidates: Collection[Identity], application: str) -> dict[str, Identity]:
    """Return an application's executors among these processes, by executor id."""
    found = {}
    for one in candidates:
        words = one.arguments()
        if EXECUTOR in words and words[words.index("--app-id") + 1] == application:
            found[words[words.index("--executor-id") + 1]] = one
    return found


def page_of(host: str, port: int) -> Any:
    """Return the JSON page of a master or worker."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{host}:{port}/json/", timeout=1) as answer:
        return json.load(answer)


def launch_master(state: State, tools: SparkTools) -> Launch:
    """Return the master's start command."""
    arguments = ["--host", state.host("master"), "--port", state.ports["master"]]
    arguments += ["--webui-port", state.ports["master/web"]]
    main = [f"{_DEPLOY}.master.Master", *arguments]
    return _launch(state, tools, "master", main, state.host("master"))


def launch_worker(state: State, number: int, tools: SparkTools) -> Launch:
    """Return a worker's start command."""
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
    """Return the options shared by master, workers, drivers and executors."""
    archive = [f"-XX:SharedArchiveFile={tools.archive}"] if tools.archive else []
    return [*TIDY, *(QUICK if tools.is_quick else ()), *archive]


def class_path(tools: SparkTools) -> str:
    """Return exactly the class path that Spark's launcher gives to drivers and executors.

    slf4j comes first, as there: a JVM uses a Java archive only with the class path that it was made
    with.
    """
    (first,) = (tools.home / "jars").glob("slf4j-api-*.jar")
    own = [*tools.jars, tools.home / "conf", first, tools.home / "jars" / "*"]
    return ":".join(map(str, own))


def environment(tools: SparkTools) -> dict[str, str]:
    """Return the environment of every Spark process, including drivers."""
    return {
        "JAVA_HOME": str(tools.java.parent.parent),
        "SPARK_HOME": str(tools.home),
        "SPARK_SCALA_VERSION": "2.13",  # set by Spark's scripts, which we do not use
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
