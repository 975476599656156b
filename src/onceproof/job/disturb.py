"""Carries out one fault of the plan: waits for its trigger, strikes, proves it, heals."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import Any

from onceproof.checkpoint.archive import Archive
from onceproof.errors import OnceproofError, StackError
from onceproof.failpoints import Failpoint
from onceproof.faults import ATTEMPT_ENDS, Ends, Mechanism, Scene
from onceproof.faults.registry import ends_of, find_mechanism
from onceproof.faults.triggers import has_missed, look_of
from onceproof.job.progress import RunProgress
from onceproof.machine.identity import Identity
from onceproof.machine.polling import comes_true, wait_for
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.plan import FaultPart
from onceproof.runs.records import Op, Outcome

_LOOK_EVERY_S = 0.01
_GIVES_UP_WITHIN_S = 120.0
_BEGINS_WITHIN_S = 60.0
Moment = tuple[dict[str, Any], Failpoint | None]


@dataclass
class Disturbance:
    """A fault of a run; `stop` ends its waiting when the run is over."""

    fault: FaultPart
    run: RunDirectory
    scene: Scene
    progress: RunProgress
    archive: Archive
    history: History
    stop: threading.Event

    def carry_out(self) -> None:
        """Strike once with proof, or record why that failed."""
        mechanism = find_mechanism(self.fault.verb, self.fault.target)
        try:
            while (moment := self._await_moment()) is not None:
                proof = self._strike(mechanism, *moment)
                if proof is not None:
                    self._heal(mechanism, *proof)
                    return
        finally:
            self.progress.close()

    def _await_moment(self) -> Moment | None:
        """Return the trigger's moment; None if the run ended before it."""
        when = self.fault.when
        look = look_of(when)
        point = None if look else self._failpoint()
        if point:
            point.arm()

        def come() -> tuple[Moment | None] | None:
            facts = look(when, self.progress) if look else point and point.reached()
            if facts:
                return ((dict(facts), point),)
            return (None,) if self.stop.is_set() else None

        (moment,) = wait_for(come, float("inf"), "", every_s=_LOOK_EVERY_S)
        return moment

    def _failpoint(self) -> Failpoint:
        when = self.fault.when
        return Failpoint(
            self.fault.name, when["failpoint"], when.get("batch", 0), self.run.failpoints
        )

    def _strike(
        self, mechanism: Mechanism, facts: dict[str, Any], point: Failpoint | None
    ) -> tuple[dict[str, Any], Scene] | None:
        """Strike and record it; return None if the moment had passed, to wait for the next one."""
        halted = Identity.of(facts["pid"]) if point else None
        scene = replace(self.scene, point=point, halted=halted)
        batch = facts.get("batch")
        began = {"since": self.history.last_seq(), "wall": time.time()}
        if point and (halted is None or not halted.is_alive):
            reason = f"process {facts['pid']} at {point.name} had ended before it was struck"
            self._record(Op.FAULT_STRIKE, Outcome.FAILED, {"reason": reason, **facts}, batch)
            point.arm_again()
            return None
        try:
            proof = mechanism.strike(self.fault, scene)
            if not proof:
                raise StackError(f"{self.fault.name} struck without a proof")
        except OnceproofError as error:
            self._record(Op.FAULT_STRIKE, Outcome.FAILED, {"reason": str(error), **facts}, batch)
            return {}, scene
        finally:
            if point:
                point.let_go()
        return self._recorded_strike({**proof, "moment": facts, "began": began}, scene)

    def _recorded_strike(
        self, proof: dict[str, Any], scene: Scene
    ) -> tuple[dict[str, Any], Scene] | None:
        """Record a strike with the newest batches; return None if it came after its moment.

        The archive is locked from its read to the record, so both are of the same moment.
        """
        batch = proof.get("batch", proof["moment"].get("batch"))
        name = self.fault.when.get("failpoint")
        with self.archive.lock:
            self.archive.catch_up()
            planned, committed = self.archive.newest
            proof |= {"planned": planned, "committed": committed}
            proof |= {"failpoint": name} if name else {}
            if self._has_missed(batch, planned, committed):
                reason = f"the moment in batch {batch} had passed when {self.fault.target} ended"
                self._record(Op.FAULT_STRIKE, Outcome.FAILED, {"reason": reason, **proof}, batch)
                return None
            self._record(Op.FAULT_STRIKE, Outcome.OK, proof, batch)
        return proof, scene

    def _has_missed(self, batch: int | None, planned: int, committed: int) -> bool:
        if batch is None or ends_of(self.fault.verb, self.fault.target) is not Ends.DRIVER:
            return False
        return has_missed(self.fault.when, batch, planned, committed)

    def _heal(self, mechanism: Mechanism, proof: dict[str, Any], scene: Scene) -> None:
        if not proof or not mechanism.has_heal:
            return
        reason = ""
        if self.fault.how.get("until") == ATTEMPT_ENDS:
            reason = self._await_driver_end(scene)
        else:
            self._await_commit(mechanism)
        cure: dict[str, Any] = {}
        try:
            cure = mechanism.heal(self.fault, scene, proof)
        except OnceproofError as error:
            reason = "; ".join(filter(None, [reason, str(error)]))
        if reason:
            self._record(Op.FAULT_HEAL, Outcome.FAILED, {"reason": reason, **cure}, None)
        elif cure:
            self._record(Op.FAULT_HEAL, Outcome.OK, cure, None)

    def _await_commit(self, mechanism: Mechanism) -> None:
        """Wait for the job's next commit, for at most `heals_after_s`.

        The time begins with the job's first batch, as a fault has no effect before.
        """
        before = self.archive.newest[1]

        def newest() -> tuple[int, int]:
            self.archive.catch_up()
            return self.archive.newest

        comes_true(lambda: newest()[0] >= 0 or self.stop.is_set(), _BEGINS_WITHIN_S)
        comes_true(lambda: newest()[1] > before or self.stop.is_set(), mechanism.heals_after_s)

    def _await_driver_end(self, scene: Scene) -> str:
        """Wait until the driver has given up; return why if it has not."""
        try:
            drivers = scene.job.driver()
        except OnceproofError as error:
            return str(error)

        def has_ended() -> bool:
            return not any(one.is_alive for one in drivers) or self.stop.is_set()

        comes_true(has_ended, _GIVES_UP_WITHIN_S)
        alive = any(one.is_alive for one in drivers)
        return "the driver had not given up when this was healed" if alive else ""

    def _record(self, op: Op, outcome: Outcome, proof: dict[str, Any], batch: int | None) -> None:
        self.history.append(self.fault.name, op, outcome, batch=batch, proof=proof)
