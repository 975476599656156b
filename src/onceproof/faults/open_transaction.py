"""An open transaction in a run's output, for faults that strike it."""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.faults import Scene
from onceproof.sinks import Target
from onceproof.sinks.topics.coordinator import blockers


def open_transaction(scene: Scene) -> str:
    """Return the transactional id of an open transaction; raise `StackError` without one."""
    topic = output_of(scene)
    found = blockers(topic)
    if not found:
        raise StackError(f"no transaction is open in {topic.name}: nothing was struck")
    return scene.rng.choice(found)


def output_of(scene: Scene) -> Target:
    """Return the topic that the run writes to, for a fault that strikes it."""
    brokers = scene.brokers
    options = brokers.security.for_topics()
    return Target(brokers.bootstrap, scene.plan.output.target, {}, (), options=options)
