"""The flows of a run: for each output its part of the plan, and the run's directory as it sees it.

Phases that read, recompute, compare and validate rows do so for one flow after another. In a run
with one output the only flow is the whole run.
"""

from __future__ import annotations

from dataclasses import dataclass

from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import OutputPart, Plan, QueryPart


@dataclass(frozen=True)
class Flow:
    """The part of a run that leads to one output."""

    run: RunDirectory
    plan: Plan

    @property
    def name(self) -> str:
        """The output's name; empty in a run with one output."""
        return self.run.output_name


def flows_of(run: RunDirectory, plan: Plan) -> tuple[Flow, ...]:
    """Return the flow of each output, in the order of the plan."""
    return tuple(
        Flow(_directory(run, plan, query, output), plan.flow(output.name))
        for query in plan.queries
        for output in query.outputs
    )


def _directory(run: RunDirectory, plan: Plan, query: QueryPart, output: OutputPart) -> RunDirectory:
    has_queries, has_outputs = len(plan.queries) > 1, len(plan.outputs) > 1
    return RunDirectory(
        run.root, query.name if has_queries else "", output.name if has_outputs else ""
    )


def by_query(run: RunDirectory, plan: Plan) -> dict[str, Flow]:
    """Return the first flow of each query, by the query's name; all share its checkpoint."""
    found: dict[str, Flow] = {}
    for flow in flows_of(run, plan):
        found.setdefault(flow.plan.query.name, flow)
    return found
