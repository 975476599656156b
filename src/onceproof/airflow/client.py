"""A client of Airflow's REST API."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from onceproof.errors import RequestError, StackError
from onceproof.machine.polling import wait_for
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.airflow import USER, password_of

_LIMIT_S = 60
OVER = ("success", "failed")


@dataclass(frozen=True)
class Airflow:
    """An Airflow server's address and an access token for it."""

    address: str
    token: str

    @classmethod
    def of(cls, stack: LocalStack) -> Airflow:
        """Log in to a stack's Airflow."""
        member = stack.members.get("airflow:api-server")
        if member is None:
            raise RequestError(
                f"the stack in {stack.state.folder} has no Airflow; run `onceproof down`, then "
                "`onceproof up --airflow`"
            )
        return cls.login(member.address, USER, password_of(stack.state))

    @classmethod
    def login(cls, address: str, user: str, password: str) -> Airflow:
        """Log in with a name and a password."""
        words = {"username": user, "password": password}
        return cls(address, _call(f"{address}/auth/token", "POST", words)["access_token"])

    def get(self, path: str) -> dict[str, Any]:
        """Return the document at a path below /api/v2/."""
        return _call(f"{self.address}/api/v2/{path}", "GET", token=self.token)

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a document to a path below /api/v2/, and return the response."""
        return _call(f"{self.address}/api/v2/{path}", method, body, self.token)

    def trigger(self, dag: str, conf: Mapping[str, Any]) -> str:
        """Wait until Airflow has parsed a DAG, trigger it, and return the DAG run's id."""
        wait_for(lambda: self._has_dag(dag), _LIMIT_S, f"Airflow does not find the DAG {dag}")
        body = {"logical_date": None, "conf": dict(conf)}
        return str(self.send("POST", f"dags/{dag}/dagRuns", body)["dag_run_id"])

    def _has_dag(self, dag: str) -> bool:
        found = self.get(f"dags?dag_id_pattern={dag}")["dags"]
        return any(one["dag_id"] == dag for one in found)

    def state(self, dag: str, run: str) -> str:
        """Return the state of a DAG run."""
        return str(self.get(f"dags/{dag}/dagRuns/{quote(run, safe='')}")["state"])

    def tasks(self, dag: str, run: str) -> dict[str, dict[str, Any]]:
        """Return a DAG run's task instances by name; a mapped task's name ends in its index."""
        found = self.get(f"dags/{dag}/dagRuns/{quote(run, safe='')}/taskInstances?limit=1000")
        return {
            one["task_id"] + (f"[{one['map_index']}]" if one["map_index"] >= 0 else ""): one
            for one in found["task_instances"]
        }

    def xcom(self, dag: str, run: str, task: str, key: str) -> Any:
        """Return the value of a task's XCom."""
        path = f"dags/{dag}/dagRuns/{quote(run, safe='')}/taskInstances/{task}/xcomEntries/{key}"
        return self.get(f"{path}?deserialize=true")["value"]


def _call(
    address: str, method: str, body: Mapping[str, Any] | None = None, token: str = ""
) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=_LIMIT_S) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        body_text = error.read().decode(errors="replace")[:500]
        raise StackError(f"Airflow refused {method} {address}: {error.code} {body_text}") from None
    except OSError as error:
        raise StackError(f"Airflow does not respond at {address}: {error}") from None
