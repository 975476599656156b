"""Named checks of the proofs of strikes and heals, which the judge runs.

Each mechanism declares its own checks. A check compares the proof with the planned fault and with
the rest of the history, so that an empty proof proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError
from onceproof.failpoints import TASK
from onceproof.runs.evidence import Evidence
from onceproof.runs.plan import FaultPart
from onceproof.runs.records import Op, Record

Process = tuple[int, int]  # a process by its pid and start time
SIGNALS = {"kill": "SIGKILL", "pause": "SIGSTOP"}
_PARTS = ("any", "all", "busy", "controller", "coordinator")  # roles that any member can have
_ASKS = ("SIGTERM", "SIGINT", "SIGQUIT")  # signals on which a member shuts down in good order
_FROZEN, _KILLED = "freeze", 137  # for a container: the proof of a pause, the exit code of a kill


@dataclass(frozen=True)
class Case:
    """A planned fault, the strike that landed, its heal if there is one, and the evidence."""

    fault: FaultPart
    strike: Record
    heal: Record | None
    evidence: Evidence

    @property
    def proof(self) -> Mapping[str, Any]:
        """The proof of the strike."""
        return self.strike.proof

    @property
    def cure(self) -> Mapping[str, Any]:
        """The proof of the heal."""
        return self.heal.proof if self.heal else {}

    @property
    def heal_seq(self) -> int:
        """The `seq` of the heal, 0 without one."""
        return self.heal.seq if self.heal else 0

    @property
    def run(self) -> str:
        """The name of the run."""
        return self.evidence.plan.run

    @property
    def output(self) -> str:
        """The name of the run's output."""
        return self.evidence.plan.output.target

    @property
    def topic(self) -> str:
        """The name of the run's input topic."""
        return self.evidence.plan.input.topic

    @property
    def halted(self) -> int | None:
        """The pid of the process that was halted at the fault's failpoint, None without one."""
        moment = self.proof["moment"]
        return whole(moment["pid"], 1) if "pid" in moment else None

    @property
    def is_in_task(self) -> bool:
        """Whether the failpoint is a step of a task, which runs in an executor."""
        return self.fault.when.get("failpoint") in TASK

    def drivers(self) -> dict[Process, Record]:
        """Return the `attempt.start` record of each attempt, by its driver."""
        return {process_of(one.proof): one for one in self.evidence.of(Op.ATTEMPT_START)}


@dataclass(frozen=True)
class Check:
    """A condition on a proof; `claim` completes the sentence "the proof shows that"."""

    claim: str
    holds: Callable[[Case], bool]


def failed(checks: tuple[Check, ...], case: Case) -> list[str]:
    """Return the claims of the checks that do not hold; a missing or mistyped field fails one."""
    return [one.claim for one in checks if not _holds(one, case)]


def _holds(check: Check, case: Case) -> bool:
    try:
        return check.holds(case)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RequestError):
        return False  # a field is missing or has another type than the mechanism writes


def whole(value: Any, least: int = 0) -> int:
    """Return the value if it is an integer of at least `least`, else raise `ValueError`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{value!r} is not a whole number of at least {least}")
    return value


def process_of(given: Mapping[str, Any]) -> Process:
    """Return a process from its form in a proof; raise `ValueError` if that is invalid."""
    return whole(given["pid"], 1), whole(given["started"])


def processes_of(given: Any) -> list[Process]:
    """Return the processes of a proof's list; raise `ValueError` if it is empty or has doubles."""
    found = [process_of(one) for one in given]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{given} is not a list of distinct processes")
    return found


def names_halted(case: Case, processes: list[Process]) -> bool:
    """Whether the process halted at the failpoint is among these, or no process was halted."""
    return case.halted is None or case.halted in {pid for pid, _ in processes}


def is_the_halted(case: Case, given: Any) -> bool:
    """Whether a proof's list consists of the process that was halted at the failpoint."""
    return [pid for pid, _ in processes_of(given)] == [case.halted]


def _ended_a_driver(case: Case) -> bool:
    drivers = case.drivers()
    struck = [drivers[one] for one in processes_of(case.proof["dead"]) if one in drivers]
    ends = {one.attempt: one for one in case.evidence.of(Op.ATTEMPT_END)}
    return bool(struck) and all(
        one.seq < case.strike.seq
        and (end := ends[one.attempt]).outcome == "failed"
        and end.proof["reason"] != "over"
        for one in struck
    )


def _halted_died(case: Case) -> bool:
    return case.is_in_task or names_halted(case, processes_of(case.proof["dead"]))


DEAD = Check(
    "`dead` lists each process that ended, by pid and start time",
    lambda case: bool(processes_of(case.proof["dead"])),
)
DRIVER_DEAD = Check(
    "the driver of an attempt is among `dead`, and that attempt ended as failed",
    _ended_a_driver,
)
HALTED_DEAD = Check(
    "the process halted at a driver's failpoint is among `dead`",
    _halted_died,
)
DRIVER_ENDED = (DEAD, DRIVER_DEAD, HALTED_DEAD)
# Descriptions of proofs, for the explanations of scenarios.
PROOF_DEAD = "its processes by pid and start time, dead"
PROOF_PAUSED = "its processes by pid, all of them stopped"
PROOF_ENDED = "its processes by pid, ended by themselves"


def is_struck_member(proof: Mapping[str, Any], verb: str) -> bool:
    """Whether this proves that a member was killed, stopped or paused, in any kind of stack."""
    if "command" in proof:  # a member of an external stack
        is_silent = proof["after"] not in ("", "it served", "it serves")
        return bool(proof["command"]) and proof["before"] == "it served" and is_silent
    pid, _ = process_of(proof)
    is_container = "container" in proof
    wanted = _FROZEN if is_container and verb == "pause" else SIGNALS.get(verb)
    if is_container and verb == "kill" and proof["exit_code"] != _KILLED:
        return False
    is_right = proof["signal"] == wanted if wanted else proof["signal"] in _ASKS
    return is_right and pid in proof["paused" if verb == "pause" else "ended"]


def is_cured_member(proof: Mapping[str, Any], struck: Mapping[str, Any], verb: str) -> bool:
    """Whether this proves that a struck member was resumed, or was started as a new process."""
    if "command" in struck:
        return bool(proof["command"]) and proof["after"] == "it serves"
    is_same = process_of(proof) == process_of(struck)
    has_result = isinstance(proof["trouble"], str) and isinstance(proof["changed"], bool)
    return is_same == (verb == "pause") and has_result


def fits(member: str, target: str) -> bool:
    """Whether a target refers to this member, by its name or by a role it can have."""
    kind, _, which = target.partition(":")
    is_part = which in _PARTS or "=" in which
    return member == target or (is_part and re.fullmatch(rf"{kind}:\d+", member) is not None)
