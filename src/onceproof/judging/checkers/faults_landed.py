"""Every planned fault struck, with proof, while there was input left to disturb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onceproof.errors import RequestError
from onceproof.faults.checks import Case, failed
from onceproof.faults.moments import MOMENT
from onceproof.faults.registry import find_mechanism
from onceproof.runs.evidence import Evidence, or_none
from onceproof.runs.plan import FaultPart
from onceproof.runs.records import Op, Outcome, Record
from onceproof.verdict import Finding, Grade, not_applicable


def faults_landed(evidence: Evidence) -> Finding:
    """Return UNKNOWN for each planned fault without proof, or that struck after all was committed.

    A fault's mechanism declares what its proof must show. Also UNKNOWN: a heal that failed or is
    missing, a fault that was not planned, and one process death that proves two faults.
    """
    planned = evidence.own_faults
    strikes = landed(evidence)
    names = {fault.name for fault in planned}
    every = {fault.name for fault in evidence.plan.faults}
    unplanned = {record.actor for record in evidence.of(Op.FAULT_STRIKE)} - every
    problems = [
        *filter(None, (_problem(fault, evidence, strikes) for fault in planned)),
        *(f"{name} struck without being planned" for name in sorted(unplanned)),
        *_shared_deaths(strikes),
        *_shared_processes(evidence),
    ]
    numbers = {"planned": len(planned), "landed": len(names & strikes.keys())}
    if problems:
        return Finding("faults_landed", Grade.UNKNOWN, "; ".join(problems), numbers)
    if not planned and every:
        why = "Every planned fault is about another query or output"
        return not_applicable("faults_landed", why, numbers)
    if not planned:
        return not_applicable("faults_landed", "No fault was planned, and none struck", numbers)
    reason = f"Every planned fault landed, with proof: {', '.join(fault.name for fault in planned)}"
    return Finding("faults_landed", Grade.PASS, reason, numbers)


def landed(evidence: Evidence) -> dict[str, Record]:
    """Return the first strike with proof, by fault."""
    return strikes_in(evidence.history)


def strikes_in(records: Iterable[Record]) -> dict[str, Record]:
    """Return the first strike with proof in these records, by fault."""
    found: dict[str, Record] = {}
    for record in records:
        if record.op is Op.FAULT_STRIKE and record.is_ok and has_proof(record):
            found.setdefault(record.actor, record)
    return found


def _shared_deaths(strikes: dict[str, Record]) -> list[str]:
    struck: dict[tuple[Any, Any], list[str]] = {}
    for name, record in strikes.items():
        for one in _dead(record.proof):
            struck.setdefault((one.get("pid"), one.get("started")), []).append(name)
    shared = dict.fromkeys(tuple(names) for names in struck.values() if len(names) > 1)
    return [f"{' and '.join(names)} are proved by the same process death" for names in shared]


def _shared_processes(evidence: Evidence) -> list[str]:
    starts: dict[tuple[Any, Any], int | None] = {}
    pids, problems = {}, []
    for record in evidence.of(Op.ATTEMPT_START):
        key = pid, started = record.proof.get("pid"), record.proof.get("started")
        if pid is None or started is None:
            problems.append(f"attempt {record.attempt} names no process")
        elif key in starts:
            problems.append(f"attempts {starts[key]} and {record.attempt} are the same process")
        starts[key], pids[record.attempt] = record.attempt, pid
    return problems + [
        f"the end of attempt {one.attempt} names another process than its start"
        for one in evidence.of(Op.ATTEMPT_END)
        if one.attempt in pids and one.proof.get("pid") != pids[one.attempt]
        if one.outcome is not Outcome.UNKNOWN
    ]


def _dead(proof: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the processes that a strike ended, by pid and start: of the job or of the stack."""
    members = proof.get("members")  # by name, or of links their names alone
    each = (proof, *members.values()) if isinstance(members, Mapping) else (proof,)
    ended = [one for one in each if isinstance(one, Mapping) and {"ended", "started"} <= one.keys()]
    return [one for one in (*proof.get("dead", []), *ended) if isinstance(one, Mapping)]


def has_proof(record: Record) -> bool:
    """Whether a strike carries proof that does not contradict itself."""
    proof = record.proof
    if "dead" in proof and not (isinstance(proof["dead"], list) and proof["dead"]):
        return False
    return bool(proof) and proof.get("landed", True) is True


def _problem(fault: FaultPart, evidence: Evidence, strikes: dict[str, Record]) -> str:
    if fault.name not in strikes:
        tried = any(record.actor == fault.name for record in evidence.of(Op.FAULT_STRIKE))
        return f"{fault.name} {'left no proof that it landed' if tried else 'never struck'}"
    strike = strikes[fault.name].seq
    before = [position for seq, position in evidence.positions if seq < strike]
    ledger = evidence.ledger
    left = 0 if _keeps_state(evidence) else ledger.sentinels
    if before and ledger.covered_by(before[-1]) >= ledger.acknowledged - left:
        return f"{fault.name} struck after all input was committed, so it disturbed nothing"
    is_last = not any(seq > strike for seq, _ in evidence.positions)
    if is_last and not evidence.plan.fails_for_good:
        return f"{fault.name} struck, but no batch was committed after it"
    return _heal_problem(fault, evidence, strikes[fault.name])


def _heal_problem(fault: FaultPart, evidence: Evidence, strike: Record) -> str:
    """Return the problem with the heal, or what the proofs of strike and heal fail to show."""
    heals = [record for record in evidence.of(Op.FAULT_HEAL) if record.actor == fault.name]
    if failures := [
        one.proof.get("reason", "no reason recorded") for one in heals if not one.is_ok
    ]:
        return f"{fault.name} was not healed as planned: {failures[0]}"
    if heals and heals[-1].seq < (evidence.first_planned or 0):
        return f"{fault.name} was healed before the first batch was planned: it disturbed nothing"
    try:
        mechanism = find_mechanism(fault.verb, fault.target)
    except RequestError as error:
        return f"{fault.name}: {error}"
    case = Case(fault, strike, heals[-1] if heals else None, evidence)
    if unmet := failed((*MOMENT, *mechanism.proves), case):
        return f"The proof of {fault.name} does not show that {'; that '.join(unmet)}"
    wanted = 1 if mechanism.has_heal else 0
    if len(heals) != wanted or any(one.seq < strike.seq for one in heals):
        return f"{fault.name} needs {wanted} heal after its strike, but {len(heals)} are recorded"
    if unmet := failed(mechanism.cures, case):
        return f"The proof of the heal of {fault.name} does not show that {'; that '.join(unmet)}"
    return ""


def _keeps_state(evidence: Evidence) -> bool:
    # The sentinels, sent after all events, close windows: with state, they are work left.
    recomputed = or_none(lambda: evidence.recomputed)
    return recomputed is not None and recomputed.get("state") is not None
