"""What faults may do, and whom they may strike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from onceproof.checkpoint.damage_kinds import CHECKPOINT, KINDS
from onceproof.faults import mechanisms

# Whom a fault may strike, as words for people. The stack takes more; these hold on any stack.
TARGETS: Mapping[str, str] = {
    "driver": "the driver",
    "job": "the driver and every executor at once",
    "task": "the Python process of the task that waits at the failpoint",
    "commit": "the newest commit, with the driver",
    "executor": "the executor that waits at the failpoint, else any",
    "executor:any": "one executor",
    "executor:all": "every executor",
    "executor:busy": "an executor that runs a task",
    "input": "the input's topic",
    "checkpoint": "the disk of the checkpoint and its state",
    "output": "the disk of the output",
    "broker:any": "one broker",
    "broker:controller": "the broker that is controller",
    "broker:leader=<partition>": "the broker that leads partition {number} of the input",
    "broker:coordinator": "the broker that coordinates a transaction which is open in the output",
    "broker:all": "every broker",
    "transaction": "a transaction that is open in the output",
    "worker:any": "one worker",
    "worker:busy": "a worker whose executor runs a task of the job",
    "master": "the master",
    "store": "the store",
    "store:postmaster": "the store's first process",
    **{f"{CHECKPOINT}{name}": f"the checkpoint: {kind.about}" for name, kind in KINDS.items()},
}


def verbs() -> tuple[str, ...]:
    """Return every verb that some mechanism does."""
    return tuple(dict.fromkeys(verb for one in mechanisms() for verb in one.verbs))


def find_target(text: Any) -> tuple[str, int | None] | None:
    """Return the pattern in `TARGETS` that a text fits, and its number; None if there is none."""
    for pattern in TARGETS:
        head, sign, _ = pattern.partition("<")
        found = re.fullmatch(re.escape(head) + (r"(\d{1,9})" if sign else ""), str(text))
        if found:
            return pattern, int(found[1]) if sign else None
    return None


def say_target(text: str) -> str:
    """Return a target as words."""
    pattern, number = find_target(text) or (text, None)
    return TARGETS.get(pattern, text).format(number=number)


_PROOFS = {
    "kill": "its processes by pid and start time, dead",
    "pause": "its processes by pid, all of them stopped",
    "stop": "its processes by pid, ended by themselves",
    "restart": "each one's processes, ended by themselves, and those that came after them",
    "raise": "the process at the failpoint, which says that it raised",
    "lose": "the driver's processes, dead, and the commit's files by size and sha256, gone",
    "damage": "the driver's processes, dead, and each file by size and sha256, before and after",
    "cut": "connections that the links reset or refused",
    "delay": "bytes that the links held back",
    "rate": "bytes that the links held back",
    "blackhole": "bytes that the links swallowed",
    "rescale": "the executors of the next attempt, as many as were asked for, all of them new",
    "fill": "no byte free on that file system",
    "abort": "where the aborted records stand",
    "expire": "where the partitions begin, and how many records were not read yet",
    "grow": "the number of partitions, before and after, and which new ones the job has planned",
    "recreate": "the topic's id, before and after",
    "start": "both drivers by pid, alive when the second had committed a batch",
    "hijack": "the id's state and epoch, before and after",
}
_SEATS = ("broker:controller", "broker:leader=", "broker:coordinator")


def say_proof(verb: str, target: str) -> str:
    """Return what proves that a fault took hold."""
    took_over = "; another broker holds its seat, in a higher epoch"
    is_seat = target.startswith(_SEATS) and verb in ("kill", "pause", "stop")
    return _PROOFS.get(verb, "what the verb returns") + took_over * is_seat
