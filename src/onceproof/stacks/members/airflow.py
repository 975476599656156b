"""Airflow's four components, each a separate process beside the system under test.

Airflow has its own home below the stack's, with its own login. All settings are in `airflow.cfg`,
which only this user may read. None is in the environment, where a task's children would find the
secrets.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import urllib.request
from base64 import urlsafe_b64encode
from collections.abc import Collection
from configparser import RawConfigParser
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

from onceproof.errors import RequestError
from onceproof.machine.home import RUNS, dags_folder, onceproof_home
from onceproof.machine.identity import Identity, all_processes
from onceproof.setup import making
from onceproof.stacks import VERBS
from onceproof.stacks.state import LOOPBACK, MARK, Launch, State
from onceproof.stacks.tools import run_tool

PARTS = ("api-server", "scheduler", "dag-processor", "triggerer")
PORTS = ("airflow",)
USER = "admin"
STACK = "ONCEPROOF_STACK_HOME"
# With Airflow's defaults, pauses between tasks would be a third of a short run, and tasks orphaned
# by a dead scheduler would be found only after five minutes.
_SCHEDULER = {
    "scheduler_idle_sleep_time": 0.2,
    "orphaned_tasks_check_interval": 20,
    "task_instance_heartbeat_timeout": 120,
}
# Their log servers would listen on every address of the machine. The API server reads the logs from
# the shared folder instead.
_WITH_LOG_SERVERS = ("scheduler", "triggerer")
_KEPT = ("PATH", "JAVA_HOME", "HOME", "LANG", "PYTHONPATH")


@dataclass(frozen=True)
class Component:
    """An Airflow component; the scheduler includes its workers and their tasks."""

    state: State
    part: str

    kind = "airflow"
    stop_signal = "SIGTERM"
    verbs = VERBS

    @property
    def name(self) -> str:
        """`airflow:scheduler` and so on."""
        return f"airflow:{self.part}"

    @property
    def address(self) -> str:
        """Airflow's URL for users and clients."""
        host, port = self.server
        return f"http://{host}:{port}"

    @property
    def server(self) -> tuple[str, int]:
        """Host and port of the API server, which reports the health of all components."""
        return self.state.host(f"airflow:{PARTS[0]}"), self.state.ports["airflow"]

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """The addresses that must be free before it starts."""
        return [self.server] if self.part == PARTS[0] else []

    def needs(self, running: Collection[str]) -> str:
        """Return that the API server is missing, which reports the health of all components."""
        has_server = self.part == "api-server" or "airflow:api-server" in running
        return "" if has_server else "the API server"

    def remove_leftovers(self) -> None:
        """Do nothing: no leftovers prevent a start."""

    def family(self, main: Identity | None) -> list[Identity]:
        """Return the component and its forks, but not processes in sessions of their own."""
        first = [main] if main and main.is_alive else []
        if main is None:
            return first
        return first + [one for one in all_processes() if one != main and one.session == main.pid]

    def trouble(self) -> str:
        """Return why it is not healthy, according to Airflow's health page."""
        try:
            with urllib.request.urlopen(f"{self.address}/api/v2/monitor/health", timeout=5) as page:  # noqa: S310
                health: dict[str, Any] = json.load(page)
        except (OSError, ValueError) as error:
            return f"cannot be checked, Airflow's health page does not respond: {error}"
        found = health.get(self.part.replace("-", "_"), health["metadatabase"])
        return "" if found["status"] == "healthy" else f"is {found['status'] or 'not reporting'}"


def launch_airflow(state: State, runs: Path) -> dict[str, Launch]:
    """Make Airflow's home, and return the start command of each component."""
    make_home(state)
    return {f"airflow:{part}": launch_part(state, part, runs, str(state.folder)) for part in PARTS}


def make_home(state: State) -> None:
    """Create the files that all components share: settings, database, login."""
    place = state.place("airflow")
    place.mkdir(mode=0o700)
    shutil.copy(_database(onceproof_home()), place / "airflow.db")
    _write_private(place / "passwords.json", json.dumps({USER: secrets.token_urlsafe(12)}))
    with _private(place / "airflow.cfg") as file:
        _settings(state, place).write(file)


def launch_part(state: State, part: str, runs: Path, stack: str) -> Launch:
    """Return a component's start command; `stack` is the default stack of its runs."""
    place = state.place("airflow")
    env = _environment(place) | {
        "ONCEPROOF_HOME": str(onceproof_home()),
        STACK: stack,
        RUNS: str(runs.absolute()),
    }
    more = ["--skip-serve-logs"] if part in _WITH_LOG_SERVERS else []
    return Launch([sys.executable, "-m", "airflow", part, *more], env, str(place))


def password_of(state: State) -> str:
    """Return the password of the only user."""
    found: dict[str, str] = json.loads((state.place("airflow") / "passwords.json").read_text())
    return found[USER]


def _environment(place: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or (name.startswith("ONCEPROOF_") and name not in (MARK, making.MARK))
    }
    own = {"AIRFLOW_HOME": str(place), "ONCEPROOF_SCHEDULE": "", "TZ": "UTC"}
    return own | kept


def _settings(state: State, place: Path) -> RawConfigParser:
    host, port = Component(state, PARTS[0]).server
    found = RawConfigParser()
    found.read_dict(
        {
            "core": {
                "dags_folder": dags_folder(),
                "load_examples": False,
                "executor": "LocalExecutor",
                "parallelism": 6,
                "dags_are_paused_at_creation": False,
                "execution_api_server_url": f"http://{host}:{port}/execution/",
                "simple_auth_manager_users": f"{USER}:admin",
                "simple_auth_manager_passwords_file": place / "passwords.json",
                "fernet_key": urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            },
            "api": {
                "host": host,
                "port": port,
                "base_url": f"http://{LOOPBACK}:{port}",  # for browsers on this machine
                "workers": 1,
                "secret_key": secrets.token_hex(16),
            },
            "api_auth": {"jwt_secret": secrets.token_hex(32)},
            "database": {"sql_alchemy_conn": f"sqlite:///{place / 'airflow.db'}"},
            "logging": {
                "base_log_folder": place / "logs",
            },
            "scheduler": _SCHEDULER,
            "workers": {"min_heartbeat_interval": 1},
            "dag_processor": {"refresh_interval": 60, "min_file_process_interval": 60},
        }
    )
    return found


def _database(home: Path) -> Path:
    # An empty database with Airflow's tables, made once for each release of Airflow.
    try:
        version = metadata.version("apache-airflow-core")
    except metadata.PackageNotFoundError:
        raise RequestError(
            "Airflow is not installed; run pip install 'onceproof[airflow]', or omit --airflow"
        ) from None
    digest = sha256(f"{version} {metadata.version('apache-airflow')}".encode()).hexdigest()[:12]
    path = home / "airflow" / f"{digest}.db"
    return making.ensure(home, path, lambda part, mark: _migrate(part, path.name, mark))


def _migrate(part: Path, name: str, mark: making.Environment) -> None:
    env = _environment(part) | dict(mark)
    env |= {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{part / name}"}
    env |= {"AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    run_tool([sys.executable, "-m", "airflow", "db", "migrate"], env, "airflow db migrate")


def _write_private(path: Path, text: str) -> None:
    with _private(path) as file:
        file.write(text)


def _private(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w")
