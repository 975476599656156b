"""The settings of drivers and executors, and the file that a job is started with."""

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

# Two executors of one core, a heap that three brokers leave room for, two partitions of a shuffle
# for two cores; a stopped executor is given up in seconds, not minutes.
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
    """Return where executors find a driver: on loopback, as the master, or on this host's name."""
    is_elsewhere = master.startswith("spark://") and not master.startswith("spark://127.")
    return socket.gethostname() if is_elsewhere else LOOPBACK


def settings(tools: SparkTools, master: str, folder: Path) -> Mapping[str, str]:
    """Return the whole configuration of a driver on this master, its executors included.

    The locked jars are on the class path rather than in `spark.jars`: so they are in the Java
    archive, and a job finds its connector without a flag of its own. A JVM that is killed cannot
    clear what it unpacked for itself: a driver does that in this folder, and executors where they
    run, in the folder that their worker has made for them.
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
    """Return the setting by which Spark's event log and pages do not show secrets."""
    forms = [re.escape(one) for one in secrets]
    return {"spark.redaction.regex": "|".join([_REDACTED, *forms])} if forms else {}


def write_settings(path: Path, settings: Mapping[str, str], env: Mapping[str, str]) -> None:
    """Write settings, and the environment of executors, so that only this user may read them."""
    told = {**settings, **{f"spark.executorEnv.{name}": value for name, value in env.items()}}
    text = "".join(f"{name} {_escaped(value)}\n" for name, value in told.items() if value)
    write_whole(path, text, 0o600)


def _escaped(value: str) -> str:
    """Return a value as files of Java properties hold it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
