"""Pauses executors or the driver, and resumes them later.

An executor is resumed after the job has gone on without it: Spark gives it up after the network
timeout and runs its task elsewhere, so the executor resumes as a zombie in the middle of a task.
Its Python processes are resumed first, while their JVM, which would end them, is still paused.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence

from onceproof.errors import StackError
from onceproof.faults import At, Draw, Mechanism, Proof, Scene, to_proof
from onceproof.faults.checks import (
    PROOF_PAUSED,
    Case,
    Check,
    names_halted,
    process_of,
    processes_of,
    whole,
)
from onceproof.faults.kill_executor import TARGETS, executors, pick
from onceproof.faults.needs import RUNNING_TASK
from onceproof.machine.identity import Identity
from onceproof.machine.polling import comes_true, wait_for
from onceproof.runs.plan import FaultPart
from onceproof.runs.records import Op

_PAUSES_WITHIN_S = 10.0
_ZOMBIE_WRITES_FOR_S = 5.0
_GIVEN_UP_WITHIN_S = 90.0


def pause_driver(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Pause the driver; the proof is the paused processes."""
    return _pause(scene.job.driver())


def pause_executor(fault: FaultPart, scene: Scene) -> Proof:
    """Pause executors with their Python processes; the proof is the paused processes."""
    victims = pick(fault, scene, executors(scene))
    below = [one for one in scene.job.processes() if set(victims) & set(one.ancestors())]
    driver = to_proof(scene.job.driver())
    return {**_pause(victims, below), "driver": driver, "committed": scene.job.committed()}


def wake(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:  # noqa: ARG001  the contract
    """Resume the paused processes that still live; record the newest batch committed by then."""
    found = [Identity(one["pid"], one["started"]) for one in proof["paused"]]
    living = [one for one in found if one.is_paused]
    committed = scene.job.committed()
    halted = [one for one in living if one == scene.halted]
    for one in halted:
        one.send(signal.SIGCONT)
    comes_true(lambda: not any(one.is_alive for one in halted), _ZOMBIE_WRITES_FOR_S)
    for one in living:
        one.send(signal.SIGCONT)
    dead = [one for one in found if one not in living]
    return {"woken": to_proof(living), "dead_before": to_proof(dead), "committed_before": committed}


def wake_replaced(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:
    """Resume executors after a reader has seen the job go on without them; raise if it did not.

    Executors whose driver ended in the meantime ended with it, and need not be resumed.
    """
    scene.job.let_readers_look()
    woken = wake(fault, scene, proof)
    driver = (Identity(one["pid"], one["started"]) for one in proof["driver"])
    if not woken["woken"] and any(one.is_alive for one in driver):
        raise StackError("no paused process was alive to be resumed: there was no zombie")
    if woken["committed_before"] <= proof["committed"]:
        raise StackError("no batch was committed during the pause: the executor was not replaced")
    return woken


def _pause(victims: Sequence[Identity], below: Sequence[Identity] = ()) -> Proof:
    """Pause the processes, and those of their descendants that do not end meanwhile."""
    if not victims:
        raise StackError("no process was alive to be paused")
    for one in (*victims, *below):
        one.send(signal.SIGSTOP)

    def are_paused() -> bool:
        ended = [one for one in below if not one.is_alive]
        return all(one.is_paused for one in (*victims, *below) if one not in ended)

    words = f"{len(victims)} processes do not pause on SIGSTOP"
    wait_for(are_paused, _PAUSES_WITHIN_S, words, every_s=0.01)
    return {"paused": to_proof([*victims, *(one for one in below if one.is_paused)])}


def _are_all_accounted_for(case: Case) -> bool:
    found = [process_of(one) for one in (*case.cure["woken"], *case.cure["dead_before"])]
    return sorted(found) == sorted(processes_of(case.proof["paused"]))


def _slept_through_a_commit(case: Case) -> bool:
    return whole(case.cure["committed_before"]) > whole(case.proof["committed"], -1)


def _woke_or_died_with_its_driver(case: Case) -> bool:
    ended = {one.attempt for one in case.evidence.of(Op.ATTEMPT_END) if one.seq < case.heal_seq}
    starts = case.drivers()
    driver = [starts[one] for one in processes_of(case.proof["driver"]) if one in starts]
    return bool(case.cure["woken"]) or any(one.attempt in ended for one in driver)


_ALL_PAUSED = Check(
    "`paused` lists each process that was paused, among them the one halted at the failpoint",
    lambda case: names_halted(case, processes_of(case.proof["paused"])),
)
_ACCOUNTED_FOR = Check(
    "`woken` and `dead_before` together are the `paused` processes", _are_all_accounted_for
)
_OF_DRIVER = (
    _ALL_PAUSED,
    Check(
        "the driver of an attempt is among `paused`",
        lambda case: not case.drivers().keys().isdisjoint(processes_of(case.proof["paused"])),
    ),
)
_OF_EXECUTOR = (
    _ALL_PAUSED,
    Check(
        "`driver` is that of an attempt, and no driver is among `paused`",
        lambda case: (
            not case.drivers().keys().isdisjoint(processes_of(case.proof["driver"]))
            and case.drivers().keys().isdisjoint(processes_of(case.proof["paused"]))
        ),
    ),
)
_REPLACED = (
    _ACCOUNTED_FOR,
    Check("one of them was resumed, or its driver had ended", _woke_or_died_with_its_driver),
    Check("`committed_before` is a later batch than `committed`", _slept_through_a_commit),
)
_WOKEN = (
    _ACCOUNTED_FOR,
    Check(
        "`committed_before` is the number of a batch, -1 for no batch",
        lambda case: whole(case.cure["committed_before"], -1) >= case.proof["committed"],
    ),
)
DRIVER = Mechanism(
    {"pause": PROOF_PAUSED},
    ("driver",),
    pause_driver,
    _OF_DRIVER,
    wake,
    _WOKEN,
    draws=(Draw(1, "pause", "driver", At.SHARE, order=10),),
)
EXECUTOR = Mechanism(
    {"pause": PROOF_PAUSED},
    TARGETS,
    pause_executor,
    _OF_EXECUTOR,
    wake_replaced,
    _REPLACED,
    heals_after_s=_GIVEN_UP_WITHIN_S,
    needs=(RUNNING_TASK,),
    in_executors=TARGETS,
    draws=(Draw(1, "pause", "executor", At.TASK, order=11),),
)
