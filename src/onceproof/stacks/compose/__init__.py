"""The hosts, ports and folders of a stack in containers, as in `docker-compose.yaml`."""

from __future__ import annotations

from pathlib import Path

from onceproof.machine.identity import boot_id
from onceproof.stacks.members.airflow import PARTS
from onceproof.stacks.state import State

FOLDER = Path("/var/lib/onceproof")
RUNS = Path("/runs")
BROKERS, WORKERS = 3, 2
# Each project's cluster has volumes of its own, so all may share one id.
_CLUSTER_ID = "T25jZXByb29mIGNvbXBvcw"
_BROKER = {"client": 9092, "broker": 9093, "controller": 9094}


def composed_state() -> State:
    """Return the state of a composed stack as seen by its members, each with its own host."""
    brokers = [f"broker:{i + 1}" for i in range(BROKERS)]
    workers = [f"worker:{i + 1}" for i in range(WORKERS)]
    parts = [f"airflow:{part}" for part in PARTS]
    ports = {f"{name}/{kind}": port for name in brokers for kind, port in _BROKER.items()}
    ports |= {f"{name}/outside": 19091 + i for i, name in enumerate(brokers)}
    ports |= {"master": 7077, "master/web": 8080, "store": 5432}
    ports |= {f"{name}/web": 8081 for name in workers}
    ports |= {"airflow": 18080}
    return State(
        folder=FOLDER,
        mark="",
        boot=boot_id(),
        cluster_id=_CLUSTER_ID,
        brokers=BROKERS,
        workers=WORKERS,
        ports=ports,
        launches={},
        ready=True,
        hosts={name: service(name) for name in [*brokers, "master", *workers, "store", *parts]},
    )


def service(member: str) -> str:
    """Return a member's service name in Compose, which is also its host name."""
    return member.replace(":", "-")
