"""The agent of a run: a separate process that supervises the job, strikes it and reads its output.

It outlives its starter, and ends by itself: when the run is over, when the restart strategy gave
up, when the run's time is up, or when its owner, if it has one, has ended. `python -m
onceproof.job.agent RUN [OWNER_PID OWNER_STARTED]`; started only by `handle.start_agent`, once per
run.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from onceproof.checkpoint.archive import Archive
from onceproof.checkpoint.checks import troubles
from onceproof.errors import OnceproofError
from onceproof.faults import Scene
from onceproof.job.disturb import Disturbance
from onceproof.job.handle import hold, release_alone
from onceproof.job.job import Job, source_of
from onceproof.job.last_error import failure_reason
from onceproof.job.progress import InputProgress, RunProgress, committed_records, is_over
from onceproof.job.ran_on import RanOn
from onceproof.job.reads_log import ReadsLog
from onceproof.job.recovery import Recovery
from onceproof.job.struck import StruckJob
from onceproof.job.supervisor import Supervisor, Watch
from onceproof.job.targets import open_sink
from onceproof.machine.home import jobs_folder, onceproof_home
from onceproof.machine.identity import Identity
from onceproof.runs.directory import RunDirectory
from onceproof.runs.engine_log import record_engine
from onceproof.runs.history import History
from onceproof.runs.parts import used_by
from onceproof.runs.plan import FAILED, IN_TURNS, Plan
from onceproof.runs.prepared import Prepared
from onceproof.runs.records import Op, Outcome
from onceproof.runs.restart import strategy_of
from onceproof.sinks import Sink
from onceproof.stacks.members.programs import spark_tools
from onceproof.stacks.opening import open_stack

_POLL_EVERY_S = 0.25


class Agent:
    """The parts of one run that must react fast, each in its own thread."""

    def __init__(
        self, run: RunDirectory, owner: Identity | None, source: Mapping[str, str]
    ) -> None:
        self.run, self.owner = run, owner
        self.plan, self.prepared = Plan.read(run.plan), Prepared.read(run.prepared)
        self.history = History(run.history)
        self.sink: Sink = open_sink(run, self.plan, self.prepared.address)
        self.recovery = Recovery(
            self.sink, self.history, run.fenced, lambda: owner is None or owner.is_alive
        )
        self.archive = Archive(run.checkpoint, run.checkpoint_log, self.history)
        self.input = InputProgress(run.history)
        self.stop = threading.Event()
        self.until = time.monotonic() + self.plan.limits.run_s
        self.broken: list[str] = []
        tools = spark_tools(onceproof_home())
        self.job = Job(run, self.plan, self.prepared, tools, jobs_folder(), source)
        self.supervisor = Supervisor(
            self.job.start,
            self._before_restart,
            strategy_of(self.plan.restart, Random(self.plan.seed)),
            Watch(
                self.archive.catch_up,
                lambda: is_over(run, self.archive),
                lambda: self.archive.newest,
                self._is_idle,
                run.sent.exists,
                self._trouble,
            ),
            self.history,
            self.plan.limits.stall_s,
            in_turns=self.plan.lives == IN_TURNS,
        )

    def run_to_end(self) -> str:
        """Supervise the run to its end; return the reason of a failure, or an empty text."""
        look = self.sink.reader()
        reads = ReadsLog(self.run, look)
        threads = [self._thread(one.carry_out, one.fault.name) for one in self._disturbances()]
        quiet = threading.Event()
        reader = self._thread(lambda: self._read_until(quiet, reads), "the reader")
        ran_on = RanOn(self.run, self.history, self.supervisor)
        threads.append(self._thread(lambda: ran_on.look_until(self.stop), "what the job ran on"))
        try:
            reason = self.supervisor.supervise()
            if reason:
                reason = failure_reason(reason, self.run, self.archive, self.supervisor.starts)
        finally:
            self.stop.set()
            for one in threads:
                one.join()
            ran_on.close()
            for attempt in range(1, self.supervisor.starts + 1):
                record_engine(self.run, self.run.raw_log(attempt), attempt, self.history)
            self._recover()
            quiet.set()
            reader.join()
            reads.poll_once()
            look.close()
        if self.supervisor.gave_up and self.plan.ends == FAILED:
            reason = ""
        return "; ".join(filter(None, [reason, *self.broken]))

    def _disturbances(self) -> list[Disturbance]:
        stack = open_stack(self.prepared.stack)
        struck = StruckJob(self.run, self.plan.run, self.supervisor, self.archive)
        scenes = [
            Scene(self.plan, stack, struck, Random(f"{self.plan.seed} {fault.name}"))
            for fault in self.plan.faults
        ]
        return [
            Disturbance(
                fault,
                self.run,
                scene,
                RunProgress(self.run, self.plan, self.archive, self.sink),
                self.archive,
                self.history,
                self.stop,
            )
            for fault, scene in zip(self.plan.faults, scenes, strict=True)
        ]

    def _read_until(self, quiet: threading.Event, reads: ReadsLog) -> None:
        while not quiet.wait(_POLL_EVERY_S):
            reads.poll_once()

    def _thread(self, body: Callable[[], Any], name: str) -> threading.Thread:
        def run() -> None:
            try:
                body()
            except Exception as error:
                self.broken.append(f"{name} failed: {type(error).__name__}: {error}")
                raise

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def _before_restart(self) -> dict[str, object]:
        self._recover()
        return {"checkpoint": troubles(self.run.checkpoint, self.run.checkpoint_log)}

    def _recover(self) -> None:
        """Recover the sink; call it only while no attempt lives."""
        if reason := self.recovery.settle():
            self.broken.append(reason)

    def _is_idle(self) -> bool:
        return committed_records(self.archive) >= self.input.acknowledged()

    def _trouble(self) -> str:
        if self.broken:
            return self.broken[0]
        if self.owner is not None and not self.owner.is_alive:
            return "the process that started the run has ended"
        if time.monotonic() > self.until:
            return f"the run did not end within {self.plan.limits.run_s:g} s"
        return ""


def main(root: Path, owner: Identity | None) -> int:
    """Supervise one run, and record its outcome as the end of the phase `process`."""
    run = RunDirectory(root)
    history = History(run.history)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as held:
        held.enter_context(hold(run))
        history.append("process", Op.PHASE_START)
        reason = "the agent was terminated by a signal"
        try:
            with source_of(run) as source:
                reason = Agent(run, owner, source).run_to_end()
        except OnceproofError as error:
            reason = str(error)
        finally:
            outcome = Outcome.FAILED if reason else Outcome.OK
            proof = {"reason": reason} if reason else used_by(run, "process")
            history.append("process", Op.PHASE_END, outcome, proof=proof)
            if owner is not None and not owner.is_alive:
                release_alone(run)
    return 1 if reason else 0


if __name__ == "__main__":
    words = list(map(int, sys.argv[2:]))
    sys.exit(main(Path(sys.argv[1]), Identity(*words) if words else None))
