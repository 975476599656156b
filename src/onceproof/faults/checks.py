"""What the proof of a strike and of its heal must show, as named checks that the judge runs.

Each mechanism declares its own checks beside its verb. A check compares the proof with the planned
fault and with the rest of the history, so that a proof without content proves nothing.
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

Who = tuple[int, int]  # a process by its pid and start time
SIGNALS = {"kill": "SIGKILL", "pause": "SIGSTOP"}
_PARTS = ("any", "all", "busy", "controller", "coordinator")  # of whichever member has it
_ASKS = ("SIGTERM", "SIGINT", "SIGQUIT")  # of which a member ends in good order
_FROZEN, _KILLED = "freeze", 137  # of a container: how it is paused, its exit code when killed


@dataclass(frozen=True)
class Case:
    """One planned fault, the strike that landed, its heal if there is one, and the evidence."""

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
        """The name of what the run writes to."""
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

    def drivers(self) -> dict[Who, Record]:
        """Return the start of each attempt by its driver."""
        return {who(one.proof): one for one in self.evidence.of(Op.ATTEMPT_START)}


@dataclass(frozen=True)
class Check:
    """One thing that a proof must show; `claim` completes the sentence "the proof shows that"."""

    claim: str
    holds: Callable[[Case], bool]


def failed(checks: tuple[Check, ...], case: Case) -> list[str]:
    """Return the claims of the checks that do not hold; a missing or mistyped field is one."""
    return [one.claim for one in checks if not _holds(one, case)]


def _holds(check: Check, case: Case) -> bool:
    try:
        return check.holds(case)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RequestError):
        return False  # the proof has another shape than the mechanism writes


def whole(value: Any, least: int = 0) -> int:
    """Return a whole number of at least so much; raise `ValueError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{value!r} is no whole number of at least {least}")
    return value


def who(told: Mapping[str, Any]) -> Who:
    """Return a process as a proof names it; raise `ValueError` if it names none."""
    return whole(told["pid"], 1), whole(told["started"])


def people(told: Any) -> list[Who]:
    """Return the processes of a proof's list; raise `ValueError` if it names one twice or none."""
    found = [who(one) for one in told]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{told} is no list of different processes")
    return found


def names_halted(case: Case, processes: list[Who]) -> bool:
    """Whether the process that was halted at the failpoint is among these, if one was."""
    return case.halted is None or case.halted in {pid for pid, _ in processes}


def is_the_halted(case: Case, told: Any) -> bool:
    """Whether a proof's list names the process that was halted at the failpoint, and no other."""
    return [pid for pid, _ in people(told)] == [case.halted]


def _ended_a_driver(case: Case) -> bool:
    drivers = case.drivers()
    struck = [drivers[one] for one in people(case.proof["dead"]) if one in drivers]
    ends = {one.attempt: one for one in case.evidence.of(Op.ATTEMPT_END)}
    return bool(struck) and all(
        one.seq < case.strike.seq
        and (end := ends[one.attempt]).outcome == "failed"
        and end.proof["reason"] != "over"
        for one in struck
    )


def _halted_died(case: Case) -> bool:
    return case.is_in_task or names_halted(case, people(case.proof["dead"]))


DEAD = Check(
    "`dead` lists each process that ended, by pid and start time",
    lambda case: bool(people(case.proof["dead"])),
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
# What proves a verb, in words for people.
SAYS_DEAD = "its processes by pid and start time, dead"
SAYS_PAUSED = "its processes by pid, all of them stopped"
SAYS_ENDED = "its processes by pid, ended by themselves"


def is_struck_member(told: Mapping[str, Any], verb: str) -> bool:
    """Whether this proves that a member was killed, stopped or paused, on any kind of stack."""
    if "command" in told:  # of an external stack
        is_silent = told["after"] not in ("", "it served", "it serves")
        return bool(told["command"]) and told["before"] == "it served" and is_silent
    pid, _ = who(told)
    is_container = "container" in told
    wanted = _FROZEN if is_container and verb == "pause" else SIGNALS.get(verb)
    if is_container and verb == "kill" and told["exit_code"] != _KILLED:
        return False
    is_right = told["signal"] == wanted if wanted else told["signal"] in _ASKS
    return is_right and pid in told["paused" if verb == "pause" else "ended"]


def is_cured_member(told: Mapping[str, Any], struck: Mapping[str, Any], verb: str) -> bool:
    """Whether this proves that a struck member was resumed as it was, or started anew."""
    if "command" in struck:
        return bool(told["command"]) and told["after"] == "it serves"
    is_same = who(told) == who(struck)
    has_said = isinstance(told["trouble"], str) and isinstance(told["changed"], bool)
    return is_same == (verb == "pause") and has_said


def fits(member: str, target: str) -> bool:
    """Whether this member can be the one that a target means, which names it or its part."""
    kind, _, which = target.partition(":")
    is_part = which in _PARTS or "=" in which
    return member == target or (is_part and re.fullmatch(rf"{kind}:\d+", member) is not None)
