"""The job of a run as a command line, an environment and a file of Spark settings.

Spark gets everything about the stack by its own settings, so a job needs no option of Onceproof.
Values of `${NAME}` are looked up here. They are in the job's environment, in its command line and
in a settings file that only this user may read, which is removed when the run is released.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.failpoints import FOLDER
from onceproof.fencing import FILE
from onceproof.job.attempt import ATTEMPT, Attempt, start
from onceproof.job.needs import variables_of
from onceproof.job.ran_on import recording_imports
from onceproof.job.runtime import (
    NOT_INHERITED,
    jdbc_of,
    python_of,
    search_path,
    submit_command,
    tools_of,
)
from onceproof.job.targets import target_argument
from onceproof.kafka.forgetting import ADDRESS, forgetting
from onceproof.kafka.security import VARIABLE
from onceproof.runs import engine_log
from onceproof.runs.directory import RunDirectory
from onceproof.runs.flows import flows_of
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.setup.java import QUICK, TIDY
from onceproof.spark.session import LOCAL_CLUSTER
from onceproof.spark.settings import driver_host, redaction, settings, write_settings
from onceproof.stacks.links.sources import JOB
from onceproof.stacks.members.cluster import environment
from onceproof.stacks.members.store import passfile_of, password_in
from onceproof.stacks.tools import SparkTools
from onceproof.variables import names_in, resolve, values_in, with_fields

_LONG_ENOUGH = 4  # a shorter value may be in any log by chance


@contextmanager
def source_of(run: RunDirectory) -> Iterator[Mapping[str, str]]:
    """Serve an input that can be read only once, if there is one; yield variables for the job."""
    plan, prepared = Plan.read(run.plan), Prepared.read(run.prepared)
    if plan.job.options.get("source") != "taken_once":
        yield {}
        return
    topic, host = plan.input.topic, driver_host(prepared.master)
    with forgetting(prepared.brokers, topic, host) as address:
        yield {ADDRESS: address}


class ByName:
    """The value of a placeholder: in the form {placeholder:NAME} that of a name, else the first."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def __format__(self, name: str) -> str:
        return self._values[name] if name else next(iter(self._values.values()))


@dataclass(frozen=True)
class Job:
    """Everything that attempts are started with."""

    run: RunDirectory
    plan: Plan
    prepared: Prepared
    tools: SparkTools
    jobs: Path
    source: Mapping[str, str]  # variables of `source_of`

    def start(self, number: int) -> Attempt:
        """Start attempt `number`; its settings and its log are written to the run's directory."""
        local = self.run.spark_local
        local.mkdir(exist_ok=True)
        self.run.logs.mkdir(exist_ok=True)
        tools, master = self._runs_on(local)
        self._write_settings(number, tools, master, local)
        env = recording_imports(self._environment(tools, master, local), self.run, number)
        log = self.run.logs / f"driver-{number}.log"
        command, hidden = self.command(), self._hidden()
        return start(number, self.plan.run, command, env, self.run.root, log, hidden)

    def _runs_on(self, local: Path) -> tuple[SparkTools, str]:
        """Return the Spark tools and the master: those of the stack, or of the scenario."""
        runtime = self.plan.job.runtime
        tools = tools_of(runtime, self.tools, local / "home")
        own = self.prepared.master if tools == self.tools else LOCAL_CLUSTER
        return tools, runtime.get("master", own)

    def command(self) -> list[str]:
        """Return the plan's command with its placeholders filled in."""
        values = {
            "python": python_of(self.plan.job.runtime),
            "jobs": str(self.jobs),
            "bootstrap": self.prepared.bootstrap,
            "topic": ByName({one.name: one.topic for one in self.plan.inputs}),
            **self._of_the_flows(),
        }
        env = self._variables
        try:
            words = [
                with_fields(word).format_map(
                    values | {f"${name}": one for name, one in values_in(word, env).items()}
                )
                for word in self.plan.job.command
            ]
            return submit_command(words, self._properties)
        except (KeyError, ValueError, IndexError) as error:
            raise RequestError(
                f"invalid placeholder in the command ({error}); use"
                f" {', '.join(f'{{{name}}}' for name in values)}"
            ) from None

    def _of_the_flows(self) -> dict[str, ByName]:
        """Return the values of placeholders that differ by query and by output."""
        flows = flows_of(self.run, self.plan)
        outputs = {one.plan.output.name: one for one in flows}
        addresses = {name: self.prepared.address_of(name) for name in outputs}
        places = {one.plan.query.name: one.run.checkpoint for one in reversed(flows)}
        found: dict[str, dict[str, str]] = {
            "checkpoint": {
                query.name: str(places[query.name].absolute()) for query in self.plan.queries
            },
            "sink": {name: one.plan.output.sink for name, one in outputs.items()},
            "target": {
                name: target_argument(one.run, one.plan, addresses[name])
                for name, one in outputs.items()
            },
            "address": addresses,
            "jdbc": {name: jdbc_of(one) for name, one in addresses.items()},
            "reference": {name: one.plan.output.reference for name, one in outputs.items()},
        }
        return {name: ByName(one) for name, one in found.items()}

    @property
    def _properties(self) -> Path:
        return self.run.private.absolute() / "spark.conf"

    def _write_settings(self, number: int, tools: SparkTools, master: str, local: Path) -> None:
        variables = {JOB: self.plan.run, ATTEMPT: str(number), FOLDER: self._failpoints()}
        if path := os.environ.get("PYTHONPATH"):
            variables["PYTHONPATH"] = path
        if passfile := self._store.get("PGPASSFILE"):
            variables["PGPASSFILE"] = passfile
        found = dict(settings(tools, master, local))
        if self.run.executors.exists():
            found["spark.cores.max"] = self.run.executors.read_text()
        found |= engine_log.settings(self.run.raw_log(number))
        write_settings(self.run.root / "spark.conf", found, variables | self._given)
        self.run.private.mkdir(mode=0o700, exist_ok=True)
        found |= redaction(self._hidden().values())
        write_settings(self._properties, found, variables | self._own)

    @property
    def _given(self) -> dict[str, str]:
        """The scenario's variables with secrets by name."""
        env = self.plan.job.runtime.get("env", {})
        return {name: str(value) for name, value in env.items()}

    @property
    def _own(self) -> dict[str, str]:
        """The scenario's variables with secrets by value."""
        return {name: resolve(value, self._variables) for name, value in self._given.items()}

    @property
    def _store(self) -> dict[str, str]:
        """The variables for the login to the stack's PostgreSQL; empty if it has none."""
        passfile = next(filter(None, map(passfile_of, self.prepared.addresses)), "")
        return {"PGPASSFILE": passfile, "PGPASSWORD": password_in(passfile)} if passfile else {}

    @property
    def _variables(self) -> dict[str, str]:
        return {**os.environ, **self._store}

    def _hidden(self) -> dict[str, str]:
        """Return the secrets that the job is given, by name, to remove them from its log."""
        names = [*variables_of(self.plan), "PGPASSWORD"]
        names += [one for address in self.prepared.addresses for one in names_in(address)]
        names += [one for text in self.prepared.security.values() for one in names_in(text)]
        found = {name: self._variables.get(name, "") for name in names}
        return {name: value for name, value in found.items() if len(value) >= _LONG_ENOUGH}

    def _environment(self, tools: SparkTools, master: str, local: Path) -> Mapping[str, str]:
        python = python_of(self.plan.job.runtime)
        spark = {
            **environment(tools),
            "PATH": search_path(self.plan.job.runtime, tools.home),
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": python,
            "PYSPARK_SUBMIT_ARGS": f"--properties-file {self._properties} pyspark-shell",
            "SPARK_LOCAL_IP": driver_host(master),
            "SPARK_LOCAL_DIRS": str(local.absolute()),
            "SPARK_LAUNCHER_OPTS": " ".join((*TIDY, *QUICK)),
            "PYTHONUNBUFFERED": "1",
            FOLDER: self._failpoints(),
            FILE: str(self.run.fenced.absolute()),
            VARIABLE: json.dumps(dict(self.prepared.security)),
        }
        found = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        return {**found, **spark, **self.source, **self._store, **self._own}

    def _failpoints(self) -> str:
        return str(self.run.failpoints.absolute())
