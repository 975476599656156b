"""The stack in containers: built, brought up, struck by every verb, and runs from its own Airflow.

Needs a Docker engine, and Compose as `COMPOSE` names it (default: `docker compose`). A machine that
reaches no registry names its own base image in `ONCEPROOF_BASE`.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time

from onceproof.airflow.client import OVER, Airflow
from onceproof.machine.polling import wait_for
from onceproof.stacks.compose import composed_state, service
from onceproof.stacks.compose.verbs import SOCKET, call, containers_of
from onceproof.stacks.members.airflow import USER

PROJECT = "onceproof-prove"
HOME = f"compose:{PROJECT}"
RUN = "onceproof_run"
RUNNER = service("airflow:scheduler")
COMPOSE = os.environ.get("COMPOSE", "docker compose").split()
_HEALTHY_WITHIN_S = 300
_ENDS_WITHIN_S = 500
# What is claimed of each: a member is killed, an executor in a worker's container, and a control.
SCENARIOS = [
    "copy_events__upsert_table__kill_leader",
    "app_views__upsert_table__kill_executor",
    "copy_events__append_table__kill_driver",
]
STRUCK = ("broker:2", "master", "worker:1", "store")
VERBS = (("kill", "start"), ("pause", "resume"), ("stop", "start"))


def prove() -> str:
    engine = call("GET", "version")["Version"]
    lines = [f"Engine {engine}, Compose {compose('version', '--short')}, {platform.platform()}."]
    began = time.monotonic()
    compose("build", service("broker:1"))
    lines.append(f"The image was there after {time.monotonic() - began:.0f} s.")
    try:
        began = time.monotonic()
        compose("up", "-d", "--no-build")
        wait_for(all_healthy, _HEALTHY_WITHIN_S, "not all are healthy", every_s=1)
        lines.append(f"Its containers were healthy {time.monotonic() - began:.0f} s after `up`.")
        lines += ["", *runs(), "", *verbs()]
    except BaseException:
        sys.stderr.write(compose("logs", "--no-color", "--tail=30"))
        raise
    finally:
        began = time.monotonic()
        compose("down", "--volumes")
    if left := what_is_left():
        raise SystemExit(f"left after `down --volumes`: {left}")
    lines.append(f"\n`down --volumes` took {time.monotonic() - began:.0f} s and left nothing.")
    return "\n".join(lines)


def compose(*words: str) -> str:
    usual = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    env = os.environ | {"COMPOSE_PROJECT_NAME": PROJECT, SOCKET: usual}
    done = subprocess.run([*COMPOSE, *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join([*COMPOSE, *words])}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def all_healthy() -> bool:
    found = containers_of(PROJECT)
    states = [call("GET", f"containers/{one}/json")["State"] for one in found.values()]
    if dead := [state for state in states if not state["Running"]]:
        raise SystemExit(f"a container ended at its start: {dead}")
    return len(found) == len(composed_state().hosts) and all(
        state["Health"]["Status"] == "healthy" for state in states
    )


def runs() -> list[str]:
    secret = composed_state().place("airflow") / "passwords.json"
    text = compose("exec", "-T", service("airflow:api-server"), "cat", str(secret))
    port = composed_state().ports["airflow"]
    airflow = Airflow.login(f"http://127.0.0.1:{port}", USER, json.loads(text)[USER])
    lines = ["| scenario, seed 7 | verdict | as claimed | struck, with proof | seconds |"]
    return [*lines, "|---|---|---|---|---|", *(one_run(airflow, name) for name in SCENARIOS)]


def one_run(airflow: Airflow, name: str) -> str:
    began, since = time.monotonic(), int(time.time())
    run = airflow.trigger(RUN, {"scenario": name, "seed": 7})
    wait_for(lambda: airflow.state(RUN, run) in OVER, _ENDS_WITHIN_S, f"{name}: no end", every_s=1)
    seconds = time.monotonic() - began
    states = {task: found["state"] for task, found in airflow.tasks(RUN, run).items()}
    verdict = airflow.xcom(RUN, run, "judge", "verdict")
    sys.stderr.write(f"{name}: {states} {verdict}\n")
    if not verdict["as_claimed"]:
        raise SystemExit(f"{name} is not as claimed: {verdict}")
    (proof,) = airflow.xcom(RUN, run, "disturb", "return_value")["faults"].values()
    words = [f"{key} {proof[key]}" for key in ("member", "container", "exit_code") if key in proof]
    words += [f"dead: {proof['dead']}"] if "dead" in proof else []
    if "seat" in proof:
        seat = proof["seat"]
        words.append(f"led by {seat['before']['broker']}, then by {seat['after']['broker']}")
    if "member" in proof:
        words.append(f"the engine's own events: {events(proof['member'], since)}")
    return f"| `{name}` | {verdict['verdict']} | yes | {'; '.join(words)} | {seconds:.0f} |"


def events(member: str, since: int) -> str:
    """Return the engine's own state of a member's container."""
    words = ["--since", str(since), "--until", str(int(time.time()) + 1), "--format", "{{json .}}"]
    words += ["--filter", f"container={containers_of(PROJECT)[service(member)]}"]
    for action in ("kill", "die", "start", "pause", "unpause"):
        words += ["--filter", f"event={action}"]
    done = subprocess.run(["docker", "events", *words], stdout=subprocess.PIPE, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return ", ".join(
        " ".join(filter(None, [one["Action"], one["Actor"]["Attributes"].get("exitCode")]))
        for one in found
    )


def verbs() -> list[str]:
    lines = [
        "| member | verb | took hold after | its cure | served after |",
        "|---|---|---|---|---|",
    ]
    for member in STRUCK:
        for verb, cure in VERBS:
            struck, healed = (order(word, member) for word in (verb, cure))
            if not healed["changed"] or healed["trouble"]:
                raise SystemExit(f"{cure} {member}: {healed}")
            lines.append(
                f"| {member} | {verb} | {struck['seconds']} s | {cure} | {healed['seconds']} s |"
            )
            sys.stderr.write(f"{lines[-1]}\n")
    return lines


def order(verb: str, member: str) -> dict:
    words = ["exec", "-T", RUNNER, "onceproof", verb, member, "--home", HOME, "--json"]
    return json.loads(compose(*words))["proof"]


def what_is_left() -> list[str]:
    label = {"filters": json.dumps({"label": [f"com.docker.compose.project={PROJECT}"]})}
    volumes = call("GET", "volumes", **label)["Volumes"] or []
    networks = call("GET", "networks", **label)
    return [*containers_of(PROJECT), *(one["Name"] for one in [*volumes, *networks])]
