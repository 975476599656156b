"""The registry of every kind of member that a local stack can have."""

from __future__ import annotations

from onceproof.stacks import Member
from onceproof.stacks.links import member as links
from onceproof.stacks.members import airflow, brokers, cluster, store
from onceproof.stacks.state import State

KINDS = (
    brokers.Broker,
    cluster.Master,
    cluster.Worker,
    store.Store,
    links.Links,
    airflow.Component,
)


def members(state: State) -> dict[str, Member]:
    """Return every member of a stack by name."""
    found: list[Member] = [brokers.Broker(state, i + 1) for i in range(state.brokers)]
    if state.workers:
        found.append(cluster.Master(state))
        found += [cluster.Worker(state, i + 1) for i in range(state.workers)]
    if "store" in state.ports:
        found.append(store.Store(state))
    if "links" in state.ports:
        found.append(links.Links(state))
    if "airflow" in state.ports:
        found += [airflow.Component(state, part) for part in airflow.PARTS]
    return {member.name: member for member in found}
