"""Spark standalone: a master, workers on loopback addresses of their own, and how JVMs are started.

Spark places a speculative copy only on another host, so each worker is one: 127.0.0.1, 127.0.0.2.
JVMs are started directly: `spark-class` would start one more only to build the command line.
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
# Of two applications on the stack at once, each gets an executor of one core on every worker.
CORES = 2
_HEAP = ("-Xms32m", "-Xmx128m", "-Xss512k")
# A port that is taken is an error, not a reason to take the next one; and the master's second door
# for jobs would have a fixed port, one for the whole machine.
_NO_OTHER_PORTS = ("-Dspark.port.maxRetries=0", "-Dspark.master.rest.enabled=false")
# A worker keeps what executors left where they ran for an hour, not for a week.
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
        """The URL that drivers and workers are given."""
        return f"spark://{self.state.host(self.name)}:{self.state.ports['master']}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        host = self.state.host(self.name)
        return [(host, self.state.ports[name]) for name in ("master", "master/web")]

    def needs(self, living: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """It needs nobody."""
        return ""

    def remove_leftovers(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member: one JVM."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Say what keeps the master from serving."""
        page = self.listens_on[1]
        try:
            status = page_of(*page)["status"]
        except (OSError, ValueError) as error:
            return f"its page on port {page[1]} does not answer: {error}"
        return "" if status == "ALIVE" else f"it says that it is {status}"

    def alive_workers(self) -> list[str]:
        """Return the hosts of the workers that the master takes for alive."""
        workers = page_of(*self.listens_on[1])["workers"]
        return [worker["host"] for worker in workers if worker["state"] == "ALIVE"]


@dataclass(frozen=True)
class Worker:
    """One Spark worker: two cores, for executors of one core each."""

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
        """Its own loopback address, or its own host."""
        return self.state.hosts.get(self.name, f"127.0.0.{self.number}")

    @property
    def address(self) -> str:
        """Its page."""
        return f"{self.host}:{self.state.ports[f'{self.name}/web']}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        return [(self.host, self.state.ports[f"{self.name}/web"])]

    def needs(self, living: Collection[str]) -> str:
        """Say what must live beside it before it can serve; empty if all of it does."""
        return "" if "master" in living else "the master"

    def remove_leftovers(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member: the worker's JVM. Its executors are not."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Say what keeps the worker from serving; it must answer and the master must know it."""
        try:
            page_of(*self.listens_on[0])
        except (OSError, ValueError) as error:
            return f"its page on {self.address} does not answer: {error}"
        try:
            known = self.host in Master(self.state).alive_workers()
        except (OSError, ValueError) as error:
            return f"the master does not answer: {error}"
        return "" if known else "the master does not take it for alive"


def is_executor(one: Identity) -> bool:
    """Whether a process is the JVM of an executor, whichever application's."""
    return EXECUTOR in one.arguments()


def executors(candidates: Collection[Identity], application: str) -> dict[str, Identity]:
    """Return the executors of an application, by executor id, among these processes."""
    found = {}
    for one in candidates:
        words = one.arguments()
        if EXECUTOR in words and words[words.index("--app-id") + 1] == application:
            found[words[words.index("--executor-id") + 1]] = one
    return found


def page_of(host: str, port: int) -> Any:
    """Return what the page of a master or a worker says of itself."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{host}:{port}/json/", timeout=1) as answer:
        return json.load(answer)


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
