"""A real API server of Airflow with our plugin: on SQLite, on loopback, for as long as a test."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from onceproof.machine.polling import wait_for
from onceproof.stacks.local.ports import free_ports

AIRFLOW = [sys.executable, "-m", "airflow"]
DAG_FILE = """from airflow.sdk import dag

@dag("onceproof_run")
def onceproof_run():
    pass

onceproof_run()
"""
PASSWORDS = {
    "viewer": "sees",
    "guest": "sees nothing",
    "operator": "acts",
}  # a guest has no role, so no access


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    text: str
    headers: Message


@dataclass(frozen=True)
class Server:
    """A server that answers, and the folder of runs that it shows."""

    url: str
    runs: Path

    def get(self, path: str, user: str = "") -> Answer:
        cookie = {"Cookie": f"_token={self.token(user)}"} if user else {}
        return self.ask(Request(self.url + path, headers=cookie))  # noqa: S310

    def token(self, user: str) -> str:
        answer = self.post("/auth/token", {"username": user, "password": PASSWORDS[user]})
        return json.loads(answer.text)["access_token"]

    def post(self, path: str, body: dict, **headers: str) -> Answer:
        headers = {"Content-Type": "application/json", **headers}
        data = json.dumps(body).encode()
        return self.ask(Request(self.url + path, data, headers))  # noqa: S310

    def ask(self, request: Request) -> Answer:
        try:
            with urlopen(request, timeout=60) as answer:  # noqa: S310
                return Answer(answer.status, answer.read().decode(), answer.headers)
        except HTTPError as error:
            with error:
                return Answer(error.code, error.read().decode(), error.headers)


@contextmanager
def api_server(home: Path, runs: Path):
    """Bring up a server over these runs, and end it."""
    port = free_ports(["api"])["api"]
    url = f"http://127.0.0.1:{port}"
    (home / "dags").mkdir(parents=True)
    (home / "dags/one.py").write_text(DAG_FILE)
    (home / "passwords.json").write_text(json.dumps(PASSWORDS))
    env = os.environ | settings(home, runs, port, url)
    for words in (["db", "migrate"], ["dags", "reserialize"]):
        done = subprocess.run(
            [*AIRFLOW, *words], env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    log = home / "api-server.log"
    with log.open("wb") as file:
        child = subprocess.Popen(
            [*AIRFLOW, "api-server"], env=env, stdout=file, stderr=file, start_new_session=True
        )
    try:
        server = Server(url, runs)
        wait_for(lambda: answers(server, child, log), 120, f"no API server: see {log}", every_s=0.2)
        yield server
    finally:
        end(child)


def answers(server: Server, child: subprocess.Popen, log: Path) -> bool:
    assert child.poll() is None, log.read_text()[-3000:]
    try:
        return server.get("/api/v2/version").status == 200
    except (URLError, ConnectionError):
        return False


def end(child: subprocess.Popen) -> None:
    """Ask the server to end; whatever is left of its session after that is killed."""
    child.terminate()
    try:
        child.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def settings(home: Path, runs: Path, port: int, url: str) -> dict[str, str]:
    settings = {
        "core__dags_folder": home / "dags",
        "core__load_examples": False,
        "core__simple_auth_manager_users": "viewer:viewer,guest:,operator:op",
        "core__simple_auth_manager_passwords_file": home / "passwords.json",
        "database__sql_alchemy_conn": f"sqlite:///{home}/airflow.db",
        "api__host": "127.0.0.1",
        "api__port": port,
        "api__base_url": url,
        "api__workers": 1,
        "usage_data_collection__enabled": False,
    }
    named = {f"AIRFLOW__{name.upper()}": str(value) for name, value in settings.items()}
    return named | {"AIRFLOW_HOME": str(home), "ONCEPROOF_RUNS": str(runs)}
