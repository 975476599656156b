"""Spark standalone: a master, and workers on loopback addresses of their own.

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

from onceproof.identity import Identity
from onceproof.setup.java import QUICK, TIDY
from onceproof.stacks import VERBS
from onceproof.stacks.state import Launch, State
from onceproof.stacks.tools import SparkTools

WORKER_MEMORY = "1g"
_HEAP = ("-Xms32m", "-Xmx128m", "-Xss512k")
_DEPLOY = "org.apache.spark.deploy"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


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
        return f"spark://127.0.0.1:{self.state.ports['master']}"

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        return [("127.0.0.1", self.state.ports[name]) for name in ("master", "master/web")]

    def needs(self, living: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """It needs nobody."""
        return ""

    def make_way(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member: one JVM."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Say what keeps the master from serving."""
        port = self.state.ports["master/web"]
        try:
            status = _json("127.0.0.1", port)["status"]
        except (OSError, ValueError) as error:
            return f"its page on port {port} does not answer: {error}"
        return "" if status == "ALIVE" else f"it says that it is {status}"

    def alive_workers(self) -> list[str]:
        """Return the hosts of the workers that the master takes for alive."""
        workers = _json("127.0.0.1", self.state.ports["master/web"])["workers"]
        return [worker["host"] for worker in workers if worker["state"] == "ALIVE"]


@dataclass(frozen=True)
class Worker:
    """One Spark worker: one core, one executor."""

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
        """Its own loopback address."""
        return f"127.0.0.{self.number}"

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

    def make_way(self) -> None:
        """A dead one leaves nothing that keeps the next from starting."""

    def family(self, main: Identity | None) -> list[Identity]:
        """The processes that are this member: the worker's JVM. Its executors are not."""
        return [main] if main and main.is_alive else []

    def trouble(self) -> str:
        """Say what keeps the worker from serving; it must answer and the master must know it."""
        try:
            _json(*self.listens_on[0])
        except (OSError, ValueError) as error:
            return f"its page on {self.address} does not answer: {error}"
        try:
            known = self.host in Master(self.state).alive_workers()
        except (OSError, ValueError) as error:
            return f"the master does not answer: {error}"
        return "" if known else "the master does not take it for alive"


def launch_master(state: State, tools: SparkTools) -> Launch:
    """Return how the master is started."""
    place = state.place("master")
    arguments = ["--host", "127.0.0.1", "--port", state.ports["master"]]
    arguments += ["--webui-port", state.ports["master/web"]]
    return _launch(state, tools, "master", [f"{_DEPLOY}.master.Master", *arguments], str(place))


def launch_worker(state: State, number: int, tools: SparkTools) -> Launch:
    """Return how a worker is started."""
    worker = Worker(state, number)
    place = state.place(worker.name)
    arguments = ["--host", worker.host, "--webui-port", state.ports[f"{worker.name}/web"]]
    arguments += ["--cores", 1, "--memory", WORKER_MEMORY, "--work-dir", place / "work"]
    main = [f"{_DEPLOY}.worker.Worker", *arguments, Master(state).address]
    return _launch(state, tools, worker.name, main, worker.host)


def _launch(state: State, tools: SparkTools, name: str, main: list[Any], host: str) -> Launch:
    place = state.place(name)
    (place / "tmp").mkdir(parents=True, exist_ok=True)
    argv = [
        *(*java_command(tools), *_HEAP, f"-Djava.io.tmpdir={place / 'tmp'}"),
        *("-cp", class_path(tools), *main),
    ]
    env = environment(tools) | {
        "SPARK_LOCAL_IP": host if host.startswith("127.") else "127.0.0.1",
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


def executors(candidates: Collection[Identity], application: str) -> dict[str, Identity]:
    """Return the executors of an application, by executor id, among these processes."""
    found = {}
    for one in candidates:
        words = one.arguments()
        if _EXECUTOR in words and words[words.index("--app-id") + 1] == application:
            found[words[words.index("--executor-id") + 1]] = one
    return found


def _json(host: str, port: int) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{host}:{port}/json/", timeout=1) as answer:
        return json.load(answer)
