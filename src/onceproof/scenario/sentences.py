"""A plan as sentences: the input, the job, the faults and the verdict."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from onceproof.faults.registry import proof_words, target_words
from onceproof.guarantee import Anomaly
from onceproof.references.declared import CALM, EACH_ONCE
from onceproof.runs.plan import IN_TURNS, LATEST, FaultPart, InputPart, Plan
from onceproof.runs.suites import ERROR, INPUT, OUTPUT, suites_in
from onceproof.verdict import Grade


def explain(plan: Plan) -> dict[str, list[str]]:
    """Return the sentences of each part of a plan, by the part's heading."""
    return {
        "Sent": _sent(plan),
        "Started": _started(plan),
        "Struck": _struck(plan),
        "Judged": _judged(plan),
        "PASS": [_passes(plan)],
        "FAIL": _fails(plan),
        "UNKNOWN": _unknown(plan),
    }


def _sent(plan: Plan) -> list[str]:
    latest = any(query.starting == LATEST for query in plan.queries)
    return [
        *(line for one in plan.inputs for line in _input(plan, one)),
        *(["Nothing is sent before the query has written its first offsets."] if latest else []),
        *dict.fromkeys(_ends(one.options) for one in plan.inputs),
    ]


def _input(plan: Plan, one: InputPart) -> list[str]:
    options = one.options
    rate = options.get("rate")
    pace = f"{rate:,} records a second" if rate else "as fast as possible"
    others = {k: v for k, v in options.items() if k not in ("events", "producers", "rate")}
    name = f"{one.name}: " if len(plan.inputs) > 1 else ""
    return [
        f"{name}{options['events']:,} events of {one.workload}, drawn from seed {plan.seed}, to a"
        f" topic with {one.partitions} partitions, by {options['producers']} producer(s),"
        f" {pace}.",
        f"Options: {', '.join(f'{name} {value}' for name, value in others.items())}.",
    ]


def _ends(options: Mapping[str, Any]) -> str:
    if options.get("sentinel", True):
        return "A sentinel ends the input; the ledger has every send and its acknowledgement."
    return (
        "No sentinel ends the input: windows that are open at the end stay open, and their rows are"
        " never emitted. A job without windows needs no sentinel."
    )


def _started(plan: Plan) -> list[str]:
    restart = dict(plan.restart)
    strategy = restart.pop("strategy")
    numbers = ", ".join(f"{name} {value}" for name, value in restart.items())
    return [
        shlex.join(plan.job.command),
        f"The code under test is {plan.subject}.",
        *([_TURNS] if plan.lives == IN_TURNS else []),
        f"After a crash it is restarted by {strategy}{f' ({numbers})' if numbers else ''}.",
        *(
            [f"It must fail for good: the strategy must give up{_last_words(plan)}."]
            if plan.fails_for_good
            else []
        ),
    ]


_TURNS = (
    "It runs in turns: when one has ended with exit code 0, the next is started, until one that"
    " began after all input was sent has ended so, and everything is committed. Any other end is a"
    " crash."
)


def _last_words(plan: Plan) -> str:
    return f", and the job's log must end with {plan.last_words!r}" if plan.last_words else ""


def _struck(plan: Plan) -> list[str]:
    lines = [
        f"{fault.name}: {fault.verb} {target_words(fault.target)}{_how(fault)}; trigger:"
        f" {fault.trigger}. Proof: {proof_words(fault.verb, fault.target)}.{_effect(fault)}"
        for fault in plan.faults
    ]
    return lines or ["Nothing: this is a calm run."]


def _effect(fault: FaultPart) -> str:
    return f" Its effect must be at least: {fault.effect}." if fault.effect else ""


def _how(fault: FaultPart) -> str:
    options = [f"{name} {value}" for name, value in fault.how.items()]
    return f" ({', '.join(options)})" if options else ""


def _judged(plan: Plan) -> list[str]:
    also = "Also: the rows visible during the faults, the state in the checkpoint, late rows."
    if len(plan.outputs) == 1:
        return [*_output(plan), *_held(plan), also]
    flows = [plan.flow(one.name) for one in plan.outputs]
    parts = [
        f"{one.output.name}, which the query {one.query.name} writes"
        f" from {' and '.join(one.query.inputs)}: {' '.join(_output(one))}"
        for one in flows
    ]
    return [*parts, f"{also} Each output has a verdict of its own, and the worst decides."]


def _output(plan: Plan) -> list[str]:
    output = plan.output
    return [
        f"The visible rows of {output.sink} ({output.store}, {output.family}) at the end against"
        f" {_expected(plan)}.",
        f"The sink declares {output.guarantee}; the run is held to {plan.hold_to}.",
        *_compared(output.declared),
    ]


def _held(plan: Plan) -> list[str]:
    """Return a sentence for each suite of the scenario's own."""
    rows = {OUTPUT: "all columns of the output", INPUT: "the events that were sent"}
    return [
        f"The suite {suite['name']} could not be built: {suite[ERROR]}."
        if ERROR in suite
        else f"{len(suite['expectations'])} expectations of the suite {suite['name']} against"
        f" {rows[on]}."
        for on, suite in suites_in(plan.expectations)
        if on in rows
    ]


def _expected(plan: Plan) -> str:
    reference = plan.output.reference
    if not plan.output.declared:
        kind = {"append": "every emitted row", "upsert": "the newest row of each key"}
        of = kind[plan.output.writes]
        return f"{reference}, replayed over the offsets that the job read: {of}"
    words = {
        EACH_ONCE: "every key of the input, once",
        CALM: "the output of a run of the same seed without faults, which goes first",
    }
    return words.get(reference, f"the result of {reference} for the whole input")


def _compared(output: Mapping[str, Any]) -> list[str]:
    if not output:
        return []
    columns = [
        *output["key"],
        *(one for one in output.get("columns", {}) if one not in output["key"]),
    ]
    rest = "" if len(columns) > len(output["key"]) else ": wrong values elsewhere are not detected"
    return [
        f"Of each row {', '.join(columns)} is compared{rest}.",
        "Its rows have no batch, so the cause of a wrong row is inferred from the batch that read"
        " the key; torn batches and zombies are not checked.",
    ]


def _passes(plan: Plan) -> str:
    if plan.claims is Grade.PASS and plan.fails_for_good:
        return (
            "is claimed: every fault has its proof, the restart strategy gave up, and the committed"
            " rows are correct."
        )
    if plan.claims is Grade.PASS:
        return (
            "is claimed: every fault has its proof, all input is committed, all rows are correct."
        )
    return "is not claimed: this is a negative control, and as claimed only with FAIL."


def _fails(plan: Plan) -> list[str]:
    if len(plan.outputs) > 1:
        flows = {one.name: plan.flow(one.name) for one in plan.outputs}
        return [f"{name}: {' '.join(_fails(flow))}" for name, flow in flows.items()]
    promise = plan.claim.promise
    illegal = [one for one in Anomaly if not promise.allows(one)]
    legal = [one for one in Anomaly if promise.allows(one)]
    lines = [f"Any row that is {_words(illegal)}."]
    if legal:
        lines.append(f"Counted, and allowed: {_words(legal)}.")
    if plan.claims is Grade.FAIL:
        names = ", ".join(plan.anomalies)
        lines.append(f"It is claimed: {names} must appear, and no other class that is not allowed.")
    return lines


def _words(anomalies: Iterable[Anomaly]) -> str:
    return ", ".join(anomalies).replace("_", " ")


def _unknown(plan: Plan) -> list[str]:
    proof = ["a fault has no proof, or strikes when all input is committed;"] if plan.faults else []
    if any(fault.effect for fault in plan.faults):
        proof.append("a fault has less effect on the job than it must have;")
    if not plan.unexplained_allowed:
        proof.append("an attempt or a task fails without a planned fault as the cause;")
    return [
        *proof,
        f"the run takes longer than {plan.limits.run_s} s, or the job makes no progress for"
        f" {plan.limits.stall_s} s;",
        "evidence is missing.",
    ]
