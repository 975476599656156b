"""Airflow as a program meets it: its REST interface, behind its login."""

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
    """An Airflow at an address, and the token that opens it."""

    address: str
    token: str

    @classmethod
    def of(cls, stack: LocalStack) -> Airflow:
        """Log in to the Airflow of a stack."""
        member = stack.members.get("airflow:api-server")
        if member is None:
            raise RequestError(
                f"the stack in {stack.state.folder} has no Airflow: `onceproof down`, and up "
                "with --airflow"
            )
        return cls.login(member.address, USER, password_of(stack.state))

    @classmethod
    def login(cls, address: str, user: str, password: str) -> Airflow:
        """Log in with a name and a password."""
        words = {"username": user, "password": password}
        return cls(address, _call(f"{address}/auth/token", "POST", words)["access_token"])

    def get(self, path: str) -> dict[str, Any]:
        """Return what stands at a path below /api/v2/."""
        return _call(f"{self.address}/api/v2/{path}", "GET", token=self.token)

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a document to a path below /api/v2/, and return the answer."""
        return _call(f"{self.address}/api/v2/{path}", method, body, self.token)

    def trigger(self, dag: str, conf: Mapping[str, Any]) -> str:
        """Trigger a DAG, when Airflow has read it, and return the name of its run."""
        wait_for(lambda: self._knows(dag), _LIMIT_S, f"Airflow does not find the DAG {dag}")
        body = {"logical_date": None, "conf": dict(conf)}
        return str(self.send("POST", f"dags/{dag}/dagRuns", body)["dag_run_id"])

    def _knows(self, dag: str) -> bool:
        found = self.get(f"dags?dag_id_pattern={dag}")["dags"]
        return any(one["dag_id"] == dag for one in found)

    def state(self, dag: str, run: str) -> str:
        """Return the state of a DAG's run."""
        return str(self.get(f"dags/{dag}/dagRuns/{quote(run, safe='')}")["state"])

    def tasks(self, dag: str, run: str) -> dict[str, dict[str, Any]]:
        """Return the tasks of a run, mapped ones by their name and number."""
        found = self.get(f"dags/{dag}/dagRuns/{quote(run, safe='')}/taskInstances?limit=1000")
        return {
            one["task_id"] + (f"[{one['map_index']}]" if one["map_index"] >= 0 else ""): one
            for one in found["task_instances"]
        }

    def xcom(self, dag: str, run: str, task: str, key: str) -> Any:
        """Return what a task has told."""
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
        said = error.read().decode(errors="replace")[:500]
        raise StackError(f"Airflow refused {method} {address}: {error.code} {said}") from None
    except OSError as error:
        raise StackError(f"Airflow does not answer at {address}: {error}") from None
