"""What Spark's JVMs start from, made once for a machine: a Spark home, a Java archive."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from onceproof.errors import RequestError, StackError
from onceproof.setup.archives import archive_path, check_archive, ensure_archive
from onceproof.setup.checks import Check, refuse_unsound_spark
from onceproof.setup.jars import ensure_jars, read_lock
from onceproof.setup.java import Java, find_java
from onceproof.setup.making import Environment, ensure
from onceproof.stacks.members import spark_launch
from onceproof.stacks.tools import SparkTools, run_tool

log = logging.getLogger(__name__)


def spark_tools(home: Path, *, is_quick: bool = True) -> SparkTools:
    """Return what masters, workers, drivers and executors are started from."""
    refuse_unsound_spark()
    java = find_java()
    jars = tuple(ensure_jars(home, ["spark"])["spark"])
    bare = SparkTools(java.program, _spark_home(home), jars, None, is_quick=True)
    archive = _archive(home, java, bare)
    ensure_archive(home, archive, lambda part, mark: _dump(bare, part / archive.name, mark))
    return replace(bare, archive=archive, is_quick=is_quick)


def check_spark_archive(home: Path) -> Check:
    """Say whether a JVM takes the archive of Spark."""
    java = find_java()
    jars = tuple(jar.path(home) for jar in read_lock() if jar.set == "spark")
    bare = SparkTools(java.program, _spark_home(home), jars, None, is_quick=True)
    archive = _archive(home, java, bare)
    return check_archive("Spark", java, archive, spark_launch.class_path(bare))


def _archive(home: Path, java: Java, tools: SparkTools) -> Path:
    class_path = [*tools.jars, *sorted((tools.home / "jars").iterdir())]
    return archive_path(home, "spark", java, class_path)


def _spark_home(home: Path) -> Path:
    """Return a folder of links to everything of pyspark's, so that nothing is written into it.

    `local-cluster` writes its executors' folders into SPARK_HOME, which would be site-packages.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise RequestError("pyspark is not installed: pip install 'onceproof[spark]'")
    source = Path(spec.submodule_search_locations[0])
    name = f"{importlib.metadata.version('pyspark')}-{sha256(bytes(source)).hexdigest()[:12]}"
    folder = home / "spark" / name
    return ensure(home, folder, lambda part, _: _link_all(source, part / name))


def _link_all(source: Path, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    for entry in source.iterdir():
        (folder / entry.name).symlink_to(entry)


def _dump(tools: SparkTools, archive: Path, mark: Environment) -> None:
    """Run one small driver with executors, whose JVM knows masters and workers too."""
    log.info("making the Java archive of Spark, once for this machine: some 30 s")
    env = {**spark_launch.environment(tools), **mark}
    command = [sys.executable, "-m", "onceproof.spark.warm_up", archive, tools.java, tools.home]
    run_tool([*command, *tools.jars], env, "the first Spark driver")
    if not archive.exists():
        raise StackError(f"the first Spark driver's JVM wrote no archive to {archive}")
