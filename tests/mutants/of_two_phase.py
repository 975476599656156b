"""Two-phase commit with one fault each: what an engineer in a hurry would have written."""

from dataclasses import replace

from onceproof.sinks.protocol import Decision
from onceproof.sinks.protocol.shared_run import SharedRun
from onceproof.sinks.protocol.two_phase import TwoPhase
from tests.model.stores import ModelStore


class CommitsAtPreCommit(ModelStore):
    def begin(self, part):
        begun = super().begin(part)

        def pre_commit():
            self.tick()
            self.world.visible.update(begun.rows)
            self.world.open[part] = ()

        begun.pre_commit = pre_commit
        return begun


class DecidesBehindTheFirstCommit(TwoPhase):
    def _decided(self, batch, parts):
        self.step("all_pre_committed", batch)
        self.store.commit(parts[0])
        self.step("commit_half", batch)
        return self.writer.decide(batch, tuple(parts))

    def _commit(self, decision):
        self.step("decided", decision.batch)
        for part in decision.parts:
            self.store.commit(part)
        self.sweep(decision.batch)


class DecidesNothing(TwoPhase):
    def _decided(self, batch, parts):
        self.step("all_pre_committed", batch)
        checkpoint = self.writer.checkpoint
        return Decision(batch, checkpoint.query(), checkpoint.span(batch), 0, 0, tuple(parts))


class RollsNothingBack(TwoPhase):
    def _settle(self, part):
        decision = self.writer.memory.decision(part.batch)
        if decision is None or part not in decision.parts:
            return False
        self.store.commit(part)
        return True


class RollsDecidedBatchesBack(TwoPhase):
    def _settle(self, part):
        self.store.abort(part)
        return False


class AbortsWhatFails(TwoPhase):
    """Spark calls `abort` with every message when `commit` raises, decided or not."""

    def _commit(self, decision):
        try:
            super()._commit(decision)
        except Exception:
            for part in decision.parts:
                self.store.abort(part)
            raise


class SweepsTheOldOnly(TwoPhase):
    def sweep(self, batch):
        for part in self.store.open():
            if part.epoch < self.writer.epoch:
                self._settle(part)

    def recover(self):
        self.writer.claim()
        return {}


class SweepsWhoeverWrites(TwoPhase):
    def sweep(self, batch):
        for part in self.store.open():
            self._settle(part)


class ReturnsEarly(TwoPhase):
    def write(self, batch, tasks, drain):
        if self.writer.decision_of(batch) is None:
            super().write(batch, tasks, drain)


class RecoversWithoutAClaim(TwoPhase):
    def recover(self):
        for part in self.store.open():
            self._settle(part)
        return super().recover()


class IgnoresClaims(ModelStore):
    def decide(self, decision):
        self.tick()
        if decision.batch in self.world.decisions:
            return False
        self.world.decisions[decision.batch] = decision
        self.tick()
        self.believe(decision.batch)
        return True


class DecidesTwice(ModelStore):
    def decide(self, decision):
        self.tick()
        self.world.decisions[decision.batch] = decision
        self.tick()
        self.believe(decision.batch)
        return True


class AcknowledgesBeforeItFlushes(ModelStore):
    """A part is reported as durable while its rows are in the buffers of its writer."""

    def begin(self, part):
        begun = super().begin(part)

        def pre_commit():
            self.tick()
            self.world.open[part] = self.world.unflushed[part] = begun.rows

        begun.pre_commit = pre_commit
        return begun

    def commit(self, part):
        super().commit(part)
        self.world.unflushed.pop(part, None)  # by now its buffers were sent


class RenamesBeforeItSyncs(ModelStore):
    """A file comes into sight by its last name, and is brought to the disk behind that."""

    def begin(self, part):
        begun = super().begin(part)

        def pre_commit():
            self.tick()
            self.world.open[part] = self.world.unsynced[part] = begun.rows

        begun.pre_commit = pre_commit
        return begun

    def commit(self, part):
        super().commit(part)
        self.tick()
        self.world.unsynced.pop(part, None)


class JoinsAnyRun(SharedRun):
    def join(self, run, before):
        return before.epoch or self.memory.claim(1)


class AbortsReportedParts(SharedRun):
    def abort(self, batch, results):
        for part in (one.part for one in results if one and one.part):
            self.protocol.store.abort(part)


class WritesReplaysAgain(SharedRun):
    def state(self):
        return replace(super().state(), newest=-1)

    def commit(self, batch, results):
        self.protocol.writer.join(results[0].epoch)
        for part in (one.part for one in results if one.part):
            self.protocol.store.commit(part)
        self.protocol.step("sink_committed", batch)
