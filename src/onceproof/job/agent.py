"""The agent of a run: a separate process that supervises the job, strikes it and reads its output.

It outlives its starter, and ends by itself: when the run is over, when the restart strategy gave
up, when the run's time is up, or when its owner, if it has one, has ended. `python -m
onceproof.job.agent RUN [OWNER_PID OWNER_STARTED]`; started only by `handle.start_agent`, once per
run.
"""

from __future__ import annotations

import os
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
from onceproof.job.struck import StruckJob
from onceproof.job.supervisor import Supervisor, Watch
from onceproof.job.targets import open_sinks
from onceproof.job.written import Written
from onceproof.machine.home import jobs_folder, onceproof_home
from onceproof.machine.identity import Identity
from onceproof.runs.directory import RunDirectory
from onceproof.runs.engine_log import record_engine
from onceproof.runs.flows import Flow, by_query
from onceproof.runs.history import History
from onceproof.runs.parts import used_by
from onceproof.runs.plan import FAILED, IN_TURNS, Plan
from onceproof.runs.prepared import Prepared
from onceproof.runs.records import Op, Outcome
from onceproof.runs.restart import strategy_of
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
        self.outputs = [
            Written(flow, sink, Path(os.devnull) if number else run.fenced, self._has_owner)
            for number, (flow, sink) in enumerate(open_sinks(run, self.plan, self.prepared))
        ]
        self.queries = by_query(run, self.plan)
        self.archives = {name: _archive(one.run) for name, one in self.queries.items()}
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
                self._catch_up,
                lambda: all(is_over(*one) for one in self._archived()),
                lambda: [one.newest for one in self.archives.values()],
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
        for output in self.outputs:
            output.read()
        threads = [self._thread(one.carry_out, one.fault.name) for one in self._disturbances()]
        quiet = threading.Event()
        reader = self._thread(lambda: self._read_until(quiet), "the reader")
        ran_on = RanOn(self.run, self.history, self.supervisor)
        threads.append(self._thread(lambda: ran_on.look_until(self.stop), "what the job ran on"))
        try:
            reason = self.supervisor.supervise()
            if reason:
                reason = failure_reason(reason, self._archived(), self.supervisor.starts)
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
            for output in self.outputs:
                output.close()
        if self.supervisor.gave_up and self.plan.ends == FAILED:
            reason = ""
        return "; ".join(filter(None, [reason, *self.broken]))

    def _archived(self) -> list[tuple[Flow, Archive]]:
        return [(one, self.archives[name]) for name, one in self.queries.items()]

    def _catch_up(self) -> None:
        for archive in self.archives.values():
            archive.catch_up()

    def _disturbances(self) -> list[Disturbance]:
        stack = open_stack(self.prepared.stack)
        deaths = threading.RLock()
        sinks = {one.flow.plan.output.name: one.sink for one in self.outputs}
        found = []
        for fault in self.plan.faults:
            about = self.plan.struck_by(fault)
            flow, archive = self.queries[about.query.name], self.archives[about.query.name]
            struck = StruckJob(flow.run, self.plan.run, self.supervisor, archive, deaths)
            rng = Random(f"{self.plan.seed} {fault.name}")
            progress = RunProgress(flow, archive, sinks[about.output.name])
            history = History(self.run.history, flow.run.about_query)
            scene = Scene(about, stack, struck, rng)
            found.append(Disturbance(fault, self.run, scene, progress, archive, history, self.stop))
        return found

    def _read_until(self, quiet: threading.Event) -> None:
        while not quiet.wait(_POLL_EVERY_S):
            for output in self.outputs:
                output.poll()

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
        found = []
        for flow, _ in self._archived():
            about = f"{flow.run.query}: " if flow.run.query else ""
            each = troubles(flow.run.checkpoint, flow.run.checkpoint_log)
            found += [f"{about}{one}" for one in each]
        return {"checkpoint": found}

    def _recover(self) -> None:
        """Recover the sinks; call it only while no attempt lives."""
        for output in self.outputs:
            if reason := output.recovery.settle():
                self.broken.append(reason)

    def _has_owner(self) -> bool:
        return self.owner is None or self.owner.is_alive

    def _is_idle(self) -> bool:
        return all(
            committed_records(archive) >= self.input.acknowledged(flow.plan.query.inputs)
            for flow, archive in self._archived()
        )

    def _trouble(self) -> str:
        if self.broken:
            return self.broken[0]
        if not self._has_owner():
            return "the process that started the run has ended"
        if time.monotonic() > self.until:
            return f"the run did not end within {self.plan.limits.run_s:g} s"
        return ""


def _archive(run: RunDirectory) -> Archive:
    """Return the archive of a query's checkpoint."""
    history = History(run.history, run.about_query)
    return Archive(run.checkpoint, run.checkpoint_log, history)


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
