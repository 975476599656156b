"""What Airflow does to itself, done to it in the middle of a run: how the run ends, and what stays.

A row says what was done, when, the verdict, how many agents the run had, and what was left of it.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from configparser import RawConfigParser
from pathlib import Path
from random import Random
from urllib.parse import quote

import yaml

from onceproof.airflow.client import OVER, Airflow
from onceproof.errors import StackError
from onceproof.job.attempt import job_processes
from onceproof.job.handle import find_agent
from onceproof.machine.home import onceproof_home
from onceproof.machine.identity import all_processes
from onceproof.machine.polling import comes_true, wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.records import Op
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.airflow import PARTS
from onceproof.stacks.members.brokers import ask
from onceproof.stacks.tools import run_tool

RUN, NIGHT = "onceproof_run", "onceproof_nightly"
FROZEN_S = 45  # beyond the time after which Airflow gives up a task that it does not hear of
_ENDS_WITHIN_S = 400
_SCENARIO = {
    "name": "copy_events__two_phase_table__in_airflow",
    "pipeline": "copy_events",
    "sink": "two_phase_table",
    "faults": [
        {"do": "kill", "target": "driver", "when": {"failpoint": "commit_half", "batch": 3}}
    ],
    "max_offsets": 500,
    "workload": {"events": 8000, "partitions": 4, "rate": 400},
    "limits": {"run_s": 200, "stall_s": 60},
}
Case = Callable[[LocalStack, Airflow, str], None]


def kill_scheduler(stack: LocalStack, airflow: Airflow, run: str) -> None:
    """Kill the scheduler with its workers and their tasks, and start it again."""
    stack.apply("kill", "airflow:scheduler", Random(0))
    stack.apply("start", "airflow:scheduler", Random(0))


def stop_scheduler(stack: LocalStack, airflow: Airflow, run: str) -> None:
    """Stop the scheduler in good order, and start it again."""
    stack.apply("stop", "airflow:scheduler", Random(0))
    stack.apply("start", "airflow:scheduler", Random(0))


def kill_workers(stack: LocalStack, airflow: Airflow, run: str) -> None:
    """Kill every worker that has a task, and the task.

    One that waits is spared: it holds the lock of the executor's queue, and Airflow's scheduler
    gives out no task any more once that lock has died with it.
    """
    main = stack.state.identity("airflow:scheduler")
    family = [one for one in all_processes() if main and one != main and one.session == main.pid]
    tasks = [one for one in family if one.ancestors()[0] != main]
    if not tasks:
        raise StackError("no worker has a task, so none is killed")
    for one in {*tasks, *(one.ancestors()[0] for one in tasks)}:
        one.send(signal.SIGKILL)


def freeze_server(stack: LocalStack, airflow: Airflow, run: str) -> None:
    """Stop the API server where it stands for longer than a task may be silent."""
    stack.apply("pause", "airflow:api-server", Random(0))
    time.sleep(FROZEN_S)
    stack.apply("resume", "airflow:api-server", Random(0))


def clear_run(stack: LocalStack, airflow: Airflow, run: str) -> None:
    """Clear the DAG run while the job runs."""
    body = {"dry_run": False, "only_failed": False}
    airflow.send("POST", f"dags/{RUN}/dagRuns/{quote(run, safe='')}/clear", body)


def mark_failed(stack: LocalStack, airflow: Airflow, run: str) -> None:
    """Mark the DAG run failed while the job runs."""
    airflow.send("PATCH", f"dags/{RUN}/dagRuns/{quote(run, safe='')}", {"state": "failed"})


def fail_produce(stack: LocalStack, airflow: Airflow, run: str) -> None:
    """Mark the task failed that sends the workload."""
    path = f"dags/{RUN}/dagRuns/{quote(run, safe='')}/taskInstances/produce"
    airflow.send("PATCH", path, {"new_state": "failed"})


def nothing(stack: LocalStack, airflow: Airflow, run: str) -> None:
    """Do nothing: the measure of the others."""


CASES: dict[str, tuple[str, Case]] = {
    "nothing": ("process", nothing),
    "the scheduler is killed, and starts again": ("process", kill_scheduler),
    "the scheduler is stopped, and starts again": ("process", stop_scheduler),
    "worker and task are killed at prepare": ("prepare", kill_workers),
    "worker and task are killed at observe": ("observe", kill_workers),
    "the API server is frozen for 45 s": ("process", freeze_server),
    "the run is cleared": ("process", clear_run),
    "the run is marked failed": ("process", mark_failed),
    "produce is marked failed": ("produce", fail_produce),
}


def move_to_postgresql(stack: LocalStack) -> None:
    """Give Airflow a database in PostgreSQL in place of its file."""
    import psycopg

    store = stack.members["store"].address
    for part in PARTS:
        stack.apply("stop", f"airflow:{part}", Random(0))
    with psycopg.connect(store, autocommit=True) as connection:
        connection.execute("create database airflow")
    address = store.replace("postgresql:", "postgresql+psycopg:").replace("/postgres", "/airflow")
    path = stack.state.place("airflow") / "airflow.cfg"
    settings = RawConfigParser()
    settings.read(path)
    settings["database"] = {"sql_alchemy_conn": address, "sql_alchemy_conn_async": address}
    with path.open("w") as file:
        settings.write(file)
    launch = stack.state.launches["airflow:api-server"]
    run_tool([*launch.argv[:-1], "db", "migrate"], launch.env, "airflow db migrate")
    for part in PARTS:
        stack.apply("start", f"airflow:{part}", Random(0))


def _unknown_twice(stack: LocalStack, folder: Path, runs: Path) -> str:
    """Run a night whose one fault never strikes, and return its row."""
    airflow, began = Airflow.of(stack), time.monotonic()
    file = folder / "never.yaml"
    late = [{"do": "kill", "target": "driver", "when": {"batch": 1_000_000}}]
    file.write_text(yaml.safe_dump(_SCENARIO | {"faults": late}))
    before = set(runs.glob("*/*"))
    night = airflow.trigger(NIGHT, {"tags": [], "scenarios": [str(file)]})
    over = lambda: airflow.state(NIGHT, night) in OVER  # noqa: E731
    wait_for(over, _ENDS_WITHIN_S, "the night does not end", every_s=1)
    found = [RunDirectory(path) for path in sorted(set(runs.glob("*/*")) - before)]
    name = "nothing, and the fault never strikes"
    return _line(name, airflow.state(NIGHT, night), stack, found, began)


def prove() -> str:
    lines = [
        "| done in the middle of a run | DAG run | verdicts | agents a run | left | seconds |",
        "|---|---|---|---|---|---|",
    ]
    home = onceproof_home() / "prove-airflow"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(yaml.safe_dump(_SCENARIO))
        runs = Path(folder) / "runs"
        with LocalStack.up(home, airflow_runs=runs) as stack:
            for name, (task, case) in CASES.items():
                lines.append(_row(name, stack, file, task, case, runs))
                sys.stderr.write(f"{lines[-1]}\n")
            lines.append(_unknown_twice(stack, Path(folder), runs))
            move_to_postgresql(stack)
            name = "nothing, with Airflow's database in PostgreSQL"
            lines.append(_row(name, stack, file, "process", nothing, runs))
            sys.stderr.write("\n".join([*lines[-2:], ""]))
    return "\n".join(lines)


def _row(name: str, stack: LocalStack, file: Path, task: str, case: Case, runs: Path) -> str:
    airflow, began = Airflow.of(stack), time.monotonic()
    before = set(runs.glob("*/*"))
    run = airflow.trigger(RUN, {"scenario": str(file), "seed": 7})
    wait_for(lambda: _is_going(airflow, run, task), 120, f"{task} does not begin", every_s=0.2)
    case(stack, airflow, run)
    is_over = comes_true(lambda: _is_over(airflow, run), _ENDS_WITHIN_S, every_s=1)
    found = [RunDirectory(path) for path in sorted(set(runs.glob("*/*")) - before)]
    comes_true(lambda: all(one.released.exists() for one in found), 30)
    state = airflow.state(RUN, run) if is_over else "does not end"
    return _line(name, state, stack, found, began)


def _line(name: str, state: str, stack: LocalStack, found: list[RunDirectory], began: float) -> str:
    seconds = time.monotonic() - began
    verdicts = ", ".join(map(_verdict, found))
    agents = ", ".join(str(_agents(one)) for one in found)
    left = ", ".join(filter(None, (_left(stack, one) for one in found))) or "nothing"
    return f"| {name} | {state} | {verdicts} | {agents} | {left} | {seconds:.0f} |"


def _is_going(airflow: Airflow, run: str, task: str) -> bool:
    return airflow.tasks(RUN, run).get(task, {}).get("state") in ("running", "deferred")


def _is_over(airflow: Airflow, run: str) -> bool:
    tasks = airflow.tasks(RUN, run).values()
    ended = {"success", "failed", "skipped", "upstream_failed", "removed"}
    return airflow.state(RUN, run) in OVER and all(task["state"] in ended for task in tasks)


def _verdict(run: RunDirectory) -> str:
    return str(json.loads(run.verdict.read_text())["verdict"]) if run.verdict.exists() else "none"


def _agents(run: RunDirectory) -> int:
    records = History(run.history).so_far()
    return sum(one.op is Op.PHASE_START and one.actor == "process" for one in records)


def _left(stack: LocalStack, run: RunDirectory) -> str:
    """Return what a run has left outside its directory."""
    name = json.loads(run.plan.read_text())["run"]
    agent = find_agent(run)
    found = [f"process {one.pid}" for one in job_processes(name)]
    found += [f"agent {agent.pid}"] if agent and agent.is_alive else []
    topics = ask(stack.brokers, lambda client: client.list_topics())
    return ", ".join([*found, *(f"topic {one}" for one in topics if one.startswith(name))])
