"""A driver in this process, with our settings, that leaves nothing behind."""

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

# Two executors that are processes of their own, in a cluster that lives and dies with its driver.
LOCAL_CLUSTER = "local-cluster[2,1,1024]"
_ENDS_WITHIN_S = 300.0  # it may write an archive of its classes first, which takes a core 30 s


@contextmanager
def spark_session(
    tools: SparkTools, master: str, folder: Path, more: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """Yield a session on this master; its files lie in the folder, and its JVM ends with the block.

    One at a time in a process: Spark keeps its settings in the process's environment.
    A JVM that another session left is ended first: its class path lacks our jars.
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
    """Stop what runs and end its JVM, so that the next session can have other options."""
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
