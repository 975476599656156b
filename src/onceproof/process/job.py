"""The job of a run as a command line, an environment and a file of Spark's settings.

All that Spark must know of the stack goes through its own settings, so a job needs no flag of ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.failpoints import FOLDER
from onceproof.fencing import FILE
from onceproof.prepared import Prepared
from onceproof.process.attempt import ATTEMPT, JOB, Attempt, start
from onceproof.run import RunDirectory
from onceproof.spark.settings import driver_host, settings
from onceproof.stacks.spark_launch import environment
from onceproof.stacks.tools import SparkTools
from onceproof.work import Work


@dataclass(frozen=True)
class Job:
    """All that each attempt is started with."""

    run: RunDirectory
    work: Work
    prepared: Prepared
    tools: SparkTools
    jobs: Path

    def start(self, number: int) -> Attempt:
        """Start attempt `number`; its settings and its log are kept in the run's directory."""
        local = self.run.root / "spark-local"
        local.mkdir(exist_ok=True)
        self.run.logs.mkdir(exist_ok=True)
        env = self._environment(self._write_settings(number), local)
        log = self.run.logs / f"driver-{number}.log"
        return start(number, self.work.run, self.command(), env, self.run.root, log)

    def command(self) -> list[str]:
        """Return the plan's command with its placeholders filled in."""
        values = {
            "python": sys.executable,
            "jobs": str(self.jobs),
            "bootstrap": self.prepared.bootstrap,
            "topic": self.work.workload.topic,
            "checkpoint": str(self.run.checkpoint.absolute()),
            "sink": self.work.sink.name,
            "target": self.work.sink.target,
            "address": self.prepared.address,
            "reference": self.work.pipeline.reference,
        }
        try:
            return [word.format_map(values) for word in self.work.pipeline.command]
        except (KeyError, ValueError, IndexError) as error:
            raise RequestError(
                f"the command has a placeholder that is none ({error}): there are"
                f" {', '.join(f'{{{name}}}' for name in values)}"
            ) from None

    def _write_settings(self, number: int) -> Path:
        ours = {JOB: self.work.run, ATTEMPT: str(number), FOLDER: self._failpoints()}
        if path := os.environ.get("PYTHONPATH"):
            ours["PYTHONPATH"] = path
        found = dict(settings(self.tools, self.prepared.master))
        found |= {f"spark.executorEnv.{name}": value for name, value in ours.items()}
        target = self.run.root / "spark.conf"
        target.write_text("".join(f"{name} {value}\n" for name, value in found.items() if value))
        return target

    def _environment(self, properties: Path, local: Path) -> Mapping[str, str]:
        spark = {
            **environment(self.tools),
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "PYSPARK_SUBMIT_ARGS": f"--properties-file {properties.absolute()} pyspark-shell",
            "SPARK_LOCAL_IP": driver_host(self.prepared.master),
            "SPARK_LOCAL_DIRS": str(local.absolute()),
            "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "PYTHONUNBUFFERED": "1",
            FOLDER: self._failpoints(),
            FILE: str(self.run.fenced.absolute()),
        }
        return {**os.environ, **spark}

    def _failpoints(self) -> str:
        return str(self.run.failpoints.absolute())
