"""Kafka's two-phase commit with one fault each."""

import json
from collections import Counter
from dataclasses import replace

from onceproof.sinks.protocol.coordinated import ONGOING, CoordinatedParts, part_of
from onceproof.sinks.protocol.journal import JournalState
from onceproof.sinks.protocol.two_phase import TwoPhase
from tests.model.coordinator import ModelTopicPart, topic_store
from tests.model.transactions import Transactions


class HearsSupersededRuns(JournalState):
    def add(self, place, text):
        record = json.loads(text)
        if self._counts(place, record | {"epoch": max(record["epoch"], self.epoch)}):
            self.counted.add(record["token"])
            self.epoch = max(record["epoch"], self.epoch)


def hearing_superseded_runs(world, run, tick):
    kept = topic_store(world, run, tick)
    kept.memory.state = HearsSupersededRuns()
    return kept


class LeavesOthersOpen(CoordinatedParts):
    def open(self):
        return [part for part in super().open() if part.epoch == self.memory.state.epoch]


def leaving_others_open(world, run, tick):
    kept = topic_store(world, run, tick)
    return LeavesOthersOpen(kept.coordinator, kept.memory, kept.head, kept.writer, kept.begin)


def uncommitted(world):
    """What `isolation.level=read_uncommitted` shows: also what is open, or was aborted later."""
    return Counter(world.seen) + Counter(row for rows in world.open.values() for row in rows)


class TrustsIds(CoordinatedParts):
    """It ends every open transaction of an id, of any owner, and never asks for the outcome."""

    def intact(self):
        found = self.coordinator.unfinished(self.head)
        return {part_of(self.head, name)[0] for name in found}

    def open(self):
        parts = {part for one in self.memory.undone() for part in one.parts}
        return sorted(parts | self.intact())

    def commit(self, part):
        self._end_all(part, commit=True)
        self._ended.add(part)
        for decision in self.memory.state.undone():
            if self._ended >= set(decision.parts):
                self._done(decision)

    def abort(self, part):
        self._end_all(part, commit=False)

    def _end_all(self, part, commit):
        seen = self._look(part)
        if seen is not None and seen.state == ONGOING:
            self.coordinator.end(self._id(part), seen.producer, seen.epoch, commit=commit)


class OneIdATask(ModelTopicPart):
    """All attempts at a task share its id, and each begins by making it its own."""

    def write(self, rows):
        if self.epoch < 0:
            self.world.open.pop(self.part, None)  # the brokers abort what was open under it
        super().write(())
        self.rows = tuple(rows)

    def pre_commit(self):
        super().pre_commit()
        self.world.open[self.part] = self.rows


class ReusesIds(TwoPhase):
    def _written(self, batch, tasks):
        return super()._written(batch, lambda epoch: [no_attempt(one) for one in tasks(epoch)])


def no_attempt(part):
    return replace(part, task=0)


def trusting(world, run, tick):
    kept = topic_store(world, run, tick)
    return TrustsIds(kept.coordinator, kept.memory, kept.head, kept.writer, kept.begin)


def reusing_ids(world, run, tick):
    def begin(part):
        return OneIdATask(world, no_attempt(part), tick)

    kept = topic_store(world, run, tick)
    return TrustsIds(kept.coordinator, kept.memory, kept.head, kept.writer, begin)


class EndsByV3(Transactions):
    """Before `transaction.version` 2 the end of a transaction left its epoch as it was."""

    def end(self, name, producer, epoch, *, commit):
        said = super().end(name, producer, epoch, commit=commit)
        if said == "ok":
            self.known[name] = replace(self.known[name], epoch=epoch)
        return said


def ended_by_v3(world, run, tick):
    if not isinstance(world.transactions, EndsByV3):
        world.transactions = EndsByV3()
    return trusting(world, run, tick)
