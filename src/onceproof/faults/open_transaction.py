"""A transaction that is open in a run's output when a fault strikes."""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.faults import Scene
from onceproof.sinks import Target
from onceproof.sinks.topics.coordinator import blockers


def open_transaction(scene: Scene) -> str:
    """Return the transactional id of one, or raise if none is open."""
    topic = output_of(scene)
    found = blockers(topic)
    if not found:
        raise StackError(f"no transaction is open in {topic.name}: nothing was struck")
    return scene.rng.choice(found)


def output_of(scene: Scene) -> Target:
    """Return the topic that the run writes to, for whoever strikes in it."""
    brokers = scene.brokers
    told = brokers.security.for_topics()
    return Target(brokers.bootstrap, scene.plan.output.target, {}, (), options=told)
