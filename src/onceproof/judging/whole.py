"""The verdict of a run with several outputs, made from the verdicts of its flows.

The worst flow decides, and the run is as claimed if each flow is. A finding that all flows share is
shown once; any other names the outputs that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onceproof.guarantee import Anomaly
from onceproof.judging.blame import MOST_SAMPLED
from onceproof.runs.evidence import Evidence, or_none
from onceproof.runs.flows import by_query
from onceproof.runs.ledger import Ledger, Partition
from onceproof.verdict import (
    EXIT_AS_CLAIMED,
    EXIT_NOT_AS_CLAIMED,
    EXIT_UNKNOWN,
    Finding,
    Grade,
    Verdict,
    report_order,
    worst,
)

_SUMMED = ("expected", "observed", "late")
# The parts of a flow's document that the document of the run repeats for its output.
_OF_OUTPUT = (
    *("verdict", "hold_to", "claims", "anomalies", "as_claimed", "reasons", "differences"),
    *("counted", "allowed", "samples", "blame", "counts"),
)


@dataclass(frozen=True)
class WholeVerdict(Verdict):
    """The verdict of a run, with those of its flows by the names of their outputs."""

    flows: Mapping[str, Verdict]

    @classmethod
    def of(cls, flows: Mapping[str, Verdict]) -> WholeVerdict:
        """Return the verdict that follows from those of the flows."""
        return cls(merged({name: one.findings for name, one in flows.items()}), None, flows)

    @property
    def grade(self) -> Grade:
        """The grade of the worst flow."""
        return worst(one.grade for one in self.flows.values())

    @property
    def differences(self) -> dict[Anomaly, int]:
        """The number of rows of each class, over all outputs."""
        each = [one.differences for one in self.flows.values()]
        return {anomaly: sum(one[anomaly] for one in each) for anomaly in Anomaly}

    @property
    def counted(self) -> set[Anomaly]:
        """The classes that were counted in every output."""
        return set.intersection(*(one.counted for one in self.flows.values()))

    @property
    def exit_code(self) -> int:
        """1 if a flow is not as claimed, 2 if one is unknown, 0 if all are as claimed."""
        codes = {one.exit_code for one in self.flows.values()}
        ordered = (EXIT_NOT_AS_CLAIMED, EXIT_UNKNOWN)
        return next((code for code in ordered if code in codes), EXIT_AS_CLAIMED)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The sentences behind the grade, as `Verdict.reasons` orders them.

        Flows that are not as claimed come first.
        """
        is_pass = self.grade is Grade.PASS
        mine = [one for one in self.findings if (one.verdict is Grade.PASS) is is_pass]
        reasons = [one.reason for one in sorted(mine, key=lambda one: report_order(one.status))]
        claims = [
            f"{name}: {one.grade}, but {one.claim.verdict} is claimed"
            for name, one in self.flows.items()
            if one.claim and not one.as_claimed
        ]
        return tuple(dict.fromkeys([*claims, *reasons]))


def merged(found: Mapping[str, Sequence[Finding]]) -> tuple[Finding, ...]:
    """Return the findings of all flows: equal ones once, others with the names of their outputs."""
    by_finding: dict[str, list[tuple[Finding, list[str]]]] = {}
    for name, findings in found.items():
        for finding in findings:
            alike = by_finding.setdefault(finding.checker, [])
            names = next((names for one, names in alike if one == finding), None)
            if names is None:
                alike.append((finding, [name]))
            else:
                names.append(name)
    return tuple(
        finding if len(names) == len(found) else _about(finding, names)
        for alike in by_finding.values()
        for finding, names in alike
    )


def _about(finding: Finding, names: Iterable[str]) -> Finding:
    about = ", ".join(names)
    return replace(finding, about=about, reason=f"{about}: {finding.reason}")


def joined(
    evidence: Evidence, whole: Mapping[str, Any], flows: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the document of a run: `whole`, with the parts of its flows' documents joined."""
    plan = evidence.plan
    first = {query.name: flows[query.outputs[0].name] for query in plan.queries}
    of_fault = {one.name: flows[plan.struck_by(one).output.name] for one in plan.faults}
    main = next(iter(flows.values()))
    outputs = {
        output.name: {"query": query.name} | {name: flows[output.name][name] for name in _OF_OUTPUT}
        for query in plan.queries
        for output in query.outputs
    }
    return {
        **whole,
        "hold_to": plan.hold_to,
        "claims": plan.claims,
        "anomalies": sorted(plan.anomalies),
        "allowed": sorted(set.intersection(*(set(one["allowed"]) for one in flows.values()))),
        **{name: main[name] for name in ("ran_on", "timeline")},
        **{name: _named(flows, name) for name in ("samples", "blame")},
        "faults": [
            one for name, flow in of_fault.items() for one in flow["faults"] if one["name"] == name
        ],
        "counts": _counts(evidence, flows),
        "timings": main["timings"] | {"recovery": _recovery(of_fault)},
        "queries": {
            query.name: {
                "inputs": list(query.inputs),
                "outputs": [one.name for one in query.outputs],
                "timeline": first[query.name]["timeline"],
            }
            for query in plan.queries
        },
        "outputs": outputs,
    }


def _recovery(of_fault: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the seconds of recovery from each fault, by the flow that it is about."""
    found = {name: flow["timings"]["recovery"] for name, flow in of_fault.items()}
    return {name: seconds[name] for name, seconds in found.items() if name in seconds}


def _named(flows: Mapping[str, Mapping[str, Any]], part: str) -> list[dict[str, Any]]:
    """Return the entries of a part, each with the name of its output, a share for each output."""
    share = max(1, MOST_SAMPLED // len(flows))
    return [{**one, "output": name} for name, flow in flows.items() for one in flow[part][:share]][
        :MOST_SAMPLED
    ]


def _counts(evidence: Evidence, flows: Mapping[str, Mapping[str, Any]]) -> dict[str, int | None]:
    ledger = or_none(lambda: Ledger.read(evidence.run.ledger))
    each = [flow["counts"] for flow in flows.values()]
    sums = {name: [one[name] for one in each] for name in _SUMMED}
    return {
        "offered": ledger.offered if ledger else None,
        "acknowledged": ledger.acknowledged if ledger else None,
        "committed": _committed(evidence, ledger) if ledger else None,
        **{name: None if None in found else sum(found) for name, found in sums.items()},
    }


def _committed(evidence: Evidence, ledger: Ledger) -> int | None:
    """Count the records that every query that reads them has committed."""
    least: dict[Partition, int] = {}
    for flow in by_query(evidence.run, evidence.plan).values():
        positions = or_none(lambda run=flow.run: Evidence(run, evidence).positions)  # type: ignore[misc]
        if positions is None:
            return None
        last = positions[-1][1] if positions else {}
        for at in ledger.offsets:
            if at[0] in flow.plan.topics:
                least[at] = min(least.get(at, last.get(at, 0)), last.get(at, 0))
    return ledger.covered_by(least)
