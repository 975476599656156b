"""The settings of drivers and executors, and the settings file of a job."""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from onceproof.documents import write_whole
from onceproof.setup.java import in_folder
from onceproof.stacks.members.cluster import java_options
from onceproof.stacks.state import LOOPBACK
from onceproof.stacks.tools import SparkTools

# Two executors of one core, a heap that fits beside three brokers, two shuffle partitions for two
# cores; a paused executor is given up after seconds instead of minutes.
SMALL = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.network.timeout": "12s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeoutInterval": "4s",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "",
    "spark.executor.extraJavaOptions": "",
}


_REDACTED = "(?i)secret|password|token|access[.]?key"  # Spark's own default


def driver_host(master: str) -> str:
    """Return the host of a driver: loopback if the master is on it, otherwise this host's name."""
    is_elsewhere = master.startswith("spark://") and not master.startswith("spark://127.")
    return socket.gethostname() if is_elsewhere else LOOPBACK


def settings(tools: SparkTools, master: str, folder: Path) -> Mapping[str, str]:
    """Return the whole configuration of a driver on this master, its executors included.

    The locked jars are on the class path rather than in `spark.jars`, so that they are in the CDS
    archive and a job needs no option for its connector. A killed JVM cannot remove its temporary
    files, so a driver's are in this folder, and an executor's in the folder made by its worker.
    """
    options = java_options(tools)
    class_path = ":".join(map(str, tools.jars))
    host = driver_host(master)
    return SMALL | {
        "spark.master": master,
        "spark.driver.host": host,
        "spark.driver.bindAddress": host,
        "spark.driver.extraJavaOptions": shlex.join([*options, in_folder(folder.absolute())]),
        "spark.executor.extraJavaOptions": shlex.join([*options, in_folder(Path())]),
        "spark.driver.extraClassPath": class_path,
        "spark.executor.extraClassPath": class_path,
    }


def redaction(secrets: Iterable[str]) -> dict[str, str]:
    """Return the setting that hides secrets in Spark's event log and web pages."""
    forms = [re.escape(one) for one in secrets]
    return {"spark.redaction.regex": "|".join([_REDACTED, *forms])} if forms else {}


def write_settings(path: Path, settings: Mapping[str, str], env: Mapping[str, str]) -> None:
    """Write settings and the executors' environment to a file that only this user may read."""
    lines = {**settings, **{f"spark.executorEnv.{name}": value for name, value in env.items()}}
    text = "".join(f"{name} {_escaped(value)}\n" for name, value in lines.items() if value)
    write_whole(path, text, 0o600)


def _escaped(value: str) -> str:
    """Return a value escaped for a file of Java properties."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
