"""Appends, upserts and write-ahead logs with one fault each."""

from tests.model.families import Appended, Idempotent, Put
from tests.model.stores import ModelLog


class ByPartitionAndEpoch(Idempotent):
    """It takes a replay for the same if partition and batch are, and not the whole batch's rows."""

    def begin(self, part):
        begun = Appended(part, {}, self.tick)
        begun.world = self.world
        of_task = (part.partition, part.batch)
        add = begun.pre_commit

        def pre_commit():
            if all((one.partition, one.batch) != of_task for one in self.world.done):
                add()
                self.world.done.add(part)

        begun.pre_commit = pre_commit
        return begun


class ByARandomKey(Idempotent):
    """`uuid()` in the plan: a replay has the same rows under other keys."""

    def begin(self, part):
        begun = Appended(part, {}, self.tick)
        begun.world = self.world
        return begun


class PutUnguarded(Put):
    def put(self, key, row):
        self.world.values[key] = (self.part.batch, row)


class OlderOverwritesNewer(Idempotent):
    def begin(self, part):
        begun = PutUnguarded(part, {}, self.tick)
        begun.world = self.world
        return begun


class MarksBeforeItsEffect(ModelLog):
    def apply(self, decision, epoch, half, *, mark):
        if not super().mark(decision, epoch):
            return False
        half()
        self.tick()
        rows = [row for part in decision.parts for row in self.world.staged[part]]
        self.world.visible.update(rows)
        return True


class MarksInAnotherDatabase(ModelLog):
    """What was to be one transaction is two, in two databases."""

    def apply(self, decision, epoch, half, *, mark):
        if not super().apply(decision, epoch, half, mark=False):
            return False
        self.world.reach(self.run, "applied_unmarked")
        return super().mark(decision, epoch)
