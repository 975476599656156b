"""The sink of a run, opened by its plan on the prepared store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.documents import read_object
from onceproof.kafka.security import Security
from onceproof.references.declared import reference_of
from onceproof.runs.directory import RunDirectory
from onceproof.runs.flows import Flow, flows_of
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.sinks import Sink, Target, find_sink
from onceproof.sinks.outputs import is_output
from onceproof.variables import resolve


def target_of(run: RunDirectory, plan: Plan, address: str) -> Target:
    """Return the target that a run writes to, with the columns and the key of its reference."""
    reference = reference_of(plan.output)
    security = _security(run).for_topics() if plan.output.store == "kafka" else {}
    return Target(
        address,
        plan.output.target,
        reference.columns,
        reference.key,
        reference.version,
        options={**security, **_resolved(plan.output.options)},
        checkpoint=str(run.checkpoint.absolute()),
    )


def _resolved(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sink's options with variables replaced, except those for Kafka's clients."""
    return {
        name: resolve(value) if isinstance(value, str) and not name.startswith("kafka.") else value
        for name, value in options.items()
    }


def _security(run: RunDirectory) -> Security:
    """Return the security settings of a run's brokers, as recorded when it was prepared."""
    found = read_object(run.prepared).get("security", {}) if run.prepared.exists() else {}
    return Security(**found)


def open_sink(run: RunDirectory, plan: Plan, address: str) -> Sink:
    """Return the sink of a run, for phases and readers."""
    return find_sink(plan.output.sink)(target_of(run, plan, address))


def open_sinks(run: RunDirectory, plan: Plan, prepared: Prepared) -> list[tuple[Flow, Sink]]:
    """Return the sink of each output of a run, with its flow."""
    return [
        (flow, open_sink(flow.run, flow.plan, prepared.address_of(flow.plan.output.name)))
        for flow in flows_of(run, plan)
    ]


def target_argument(run: RunDirectory, plan: Plan, address: str) -> str:
    """Return the value of {target} in the job's command."""
    kind = find_sink(plan.output.sink)
    target = target_of(run, plan, address)
    return kind.place.location(target) if is_output(kind) else target.name
