"""A Spark session in this process, with Onceproof's settings, that is cleaned up completely."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onceproof.spark.settings import settings
from onceproof.stacks.members.cluster import environment
from onceproof.stacks.tools import SparkTools

# Two executors in separate processes, in a cluster that starts and ends with its driver.
LOCAL_CLUSTER = "local-cluster[2,1,1024]"
_ENDS_WITHIN_S = 300.0  # it may first write a CDS archive, which takes 30 s of CPU time


@contextmanager
def spark_session(
    tools: SparkTools, master: str, folder: Path, more: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """Yield a session on this master; its files are in the folder, and its JVM ends with the block.

    Use one at a time in a process: Spark keeps its settings in the process's environment. The JVM
    of an earlier session is ended first, as its class path has no jars of Onceproof.
    """
    from pyspark.sql import SparkSession

    _end_driver()

    builder = SparkSession.builder
    for name, value in {**settings(tools, master, folder), **(more or {})}.items():
        builder = builder.config(name, value)
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder)}
    before = dict(os.environ)
    os.environ.update({**environment(tools), **own, "PATH": before.get("PATH", "/usr/bin:/bin")})
    application = ""
    try:
        session = builder.getOrCreate()
        application = session.sparkContext.applicationId
        yield session
    finally:
        _end_driver()
        if application:
            shutil.rmtree(tools.home / "work" / application, ignore_errors=True)
        os.environ.clear()
        os.environ.update(before)


def _end_driver() -> None:
    """Stop the active session and end its JVM, so that the next session can have other options."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession._instantiatedSession
    if session is not None:
        session.stop()
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(_ENDS_WITHIN_S)
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
