"""A plan as sentences for people: what would be sent, started, struck and judged."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from onceproof.guarantee import Anomaly, Guarantee, Promise
from onceproof.scenario.targets import say_proof, say_target

Plan = Mapping[str, Any]


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
    workload = plan["workload"]
    options = workload["options"]
    rate = options.get("rate")
    pace = f"{rate:,} records a second" if rate else "as fast as it goes"
    others = {k: v for k, v in options.items() if k not in ("events", "producers", "rate")}
    return [
        f"{options['events']:,} events of {workload['name']}, drawn from seed {plan['seed']}, to a"
        f" topic with {workload['partitions']} partitions, by {options['producers']} producer(s),"
        f" {pace}.",
        f"Options: {', '.join(f'{name} {value}' for name, value in others.items())}.",
        "A sentinel ends the input; every send and its acknowledgement stand in the ledger.",
    ]


def _started(plan: Plan) -> list[str]:
    restart = dict(plan["restart"])
    strategy = restart.pop("strategy")
    numbers = ", ".join(f"{name} {value}" for name, value in restart.items())
    return [
        shlex.join(plan["pipeline"]["command"]),
        f"The code under test is {plan['subject']}.",
        f"When it dies it is started again by {strategy}{f' ({numbers})' if numbers else ''}.",
    ]


def _struck(plan: Plan) -> list[str]:
    said = [
        f"{fault['name']}: {fault['verb']} {say_target(fault['target'])}; trigger:"
        f" {fault['trigger']}. Proof: {say_proof(fault['verb'], fault['target'])}."
        for fault in plan["faults"]
    ]
    return said or ["Nothing: this is a calm run."]


def _judged(plan: Plan) -> list[str]:
    sink = plan["sink"]
    kind = {"append": "every row that was emitted", "upsert": "the newest row of each key"}
    return [
        f"What readers of {sink['name']} ({sink['store']}, {sink['family']}) see at the end against"
        f" {plan['pipeline']['reference']}, replayed over the offsets that the job read:"
        f" {kind[sink['writes']]}.",
        f"The sink declares {sink['guarantee']}; the run is held to {plan['hold_to']}.",
        "Beside it: what a reader saw during the faults, the state in the checkpoint, late rows.",
    ]


def _passes(plan: Plan) -> str:
    if plan["claims"] == "PASS":
        return (
            "is claimed: every fault left its proof, all input was committed, and nothing is wrong."
        )
    return "is not claimed: this is a negative control, and as claimed only with FAIL."


def _fails(plan: Plan) -> list[str]:
    sink = plan["sink"]
    promise = Promise(Guarantee(plan["hold_to"]), sink["atomic_batches"], sink["ordered"])
    illegal = [one for one in Anomaly if not promise.allows(one)]
    legal = [one for one in Anomaly if promise.allows(one)]
    said = [f"Any row that is {_words(illegal)}."]
    if legal:
        said.append(f"Counted, and allowed: {_words(legal)}.")
    if plan["claims"] == "FAIL":
        names = ", ".join(plan["anomalies"])
        said.append(f"It is claimed: {names} must appear, and nothing else that is not allowed.")
    return said


def _words(anomalies: Iterable[Anomaly]) -> str:
    return ", ".join(anomalies).replace("_", " ")


def _unknown(plan: Plan) -> list[str]:
    limits = plan["limits"]
    proof = ["a fault leaves no proof, or strikes when all is committed;"] if plan["faults"] else []
    return [
        *proof,
        f"the run takes longer than {limits['run_s']} s, or the job makes no progress for"
        f" {limits['stall_s']} s;",
        "anything that should be read is missing.",
    ]
