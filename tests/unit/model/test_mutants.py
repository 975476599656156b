"""Protocols with a fault in them: if the model does not see it, its other tests prove nothing."""

import json
from dataclasses import replace
from functools import partial

import pytest

from onceproof.guarantee import Guarantee
from onceproof.model.coordinator import topic_store
from onceproof.model.families import WRITER, Family, two_phase, two_phase_topic, wal
from onceproof.model.schedules import (
    attempts_at_tasks,
    failures,
    single_crashes,
    sleeping_attempts,
)
from onceproof.model.shared_runs import SharedSink
from onceproof.model.stores import ModelLog, ModelStore
from onceproof.model.two_drivers import second_drivers
from onceproof.sinks.protocol import Decision
from onceproof.sinks.protocol.coordinated import CoordinatedParts
from onceproof.sinks.protocol.journal import Told
from onceproof.sinks.protocol.shared_run import SharedRun
from onceproof.sinks.protocol.two_phase import TwoPhase


class CommitsBeforeItDecides(TwoPhase):
    def _decided(self, batch, parts):
        self.store.commit(parts[0])
        return self.writer.decide(batch, tuple(parts))


class DecidesNothing(TwoPhase):
    def _decided(self, batch, parts):
        checkpoint = self.writer.checkpoint
        return Decision(batch, checkpoint.query(), checkpoint.span(batch), 0, 0, tuple(parts))


class RollsNothingBack(TwoPhase):
    def _settle(self, part):
        decision = self.store.decision(part.batch)
        if decision is None or part not in decision.parts:
            return False
        self.store.commit(part)
        return True


class RollsDecidedBatchesBack(TwoPhase):
    def _settle(self, part):
        self.store.abort(part)
        return False


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
        if self.writer.known(batch) is None:
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
        self.believe(decision.batch)
        return True


class DecidesTwice(ModelStore):
    def decide(self, decision):
        self.tick()
        self.world.decisions[decision.batch] = decision
        self.believe(decision.batch)
        return True


class JoinsWhoeverIsThere(SharedRun):
    def join(self, run, known):
        return known.epoch or self.memory.claim(1)


class AbortsWhatItWasTold(SharedRun):
    def abort(self, batch, told):
        for part in (one.part for one in told if one.part):
            self.protocol.store.abort(part)


class WritesReplaysAgain(SharedRun):
    def known(self):
        return replace(super().known(), newest=-1)

    def commit(self, batch, told):
        self.protocol.writer.join(told[0].epoch)
        for part in (one.part for one in told if one.part):
            self.protocol.store.commit(part)


class MarksBeforeItsEffect(ModelLog):
    def apply(self, decision, epoch, half, *, mark):
        return super().mark(decision, epoch) and self.late(decision)

    def late(self, decision):
        self.tick()
        rows = [row for part in decision.parts for row in self.world.staged[part]]
        self.world.visible.update(rows)
        return True


class HearsSupersededRuns(Told):
    def hear(self, place, text):
        said = json.loads(text)
        if self._counts(place, said | {"epoch": max(said["epoch"], self.epoch)}):
            self.counted.add(said["token"])
            self.epoch = max(said["epoch"], self.epoch)


class LeavesOthersOpen(CoordinatedParts):
    def open(self):
        return [part for part in super().open() if part.epoch == self.memory.told.epoch]


def hearing_superseded_runs(world, run, tick):
    kept = topic_store(world, run, tick)
    kept.memory.told = HearsSupersededRuns()
    return kept


def of_kind(kind):
    def make(world, run, tick):
        kept = topic_store(world, run, tick)
        return kind(kept.coordinator, kept.memory, kept.head, kept.writer, kept.begin)

    return make


def thinned(kind):
    return partial(kind, every=5)


def caught(family, kind):
    return [one for one in kind(family) if not one.is_exact]


@pytest.mark.parametrize(
    ("protocol", "kind", "seen"),
    [
        (CommitsBeforeItDecides, single_crashes, "duplicated"),
        (DecidesNothing, single_crashes, "duplicated"),
        (RollsNothingBack, single_crashes, "left"),
        (RollsNothingBack, attempts_at_tasks, "left"),
        (RollsDecidedBatchesBack, single_crashes, "lost"),
        (RollsDecidedBatchesBack, failures, "violations"),
        (SweepsTheOldOnly, sleeping_attempts, "left"),
        (SweepsWhoeverWrites, thinned(second_drivers), "violations"),
        (ReturnsEarly, single_crashes, "violations"),
        (RecoversWithoutAClaim, thinned(second_drivers), "lost"),
    ],
)
def test_a_fault_in_the_protocol_is_seen(protocol, kind, seen):
    make = partial(two_phase, protocol=protocol)
    found = caught(Family(make, Guarantee.EXACTLY_ONCE), kind)
    assert any(getattr(one, seen) for one in found)


@pytest.mark.parametrize("store", [IgnoresClaims, DecidesTwice])
def test_a_store_that_breaks_its_word_is_seen(store):
    make = partial(two_phase, store=store)
    found = caught(Family(make, Guarantee.EXACTLY_ONCE), thinned(second_drivers))
    assert found


@pytest.mark.parametrize(
    ("store", "kind", "seen"),
    [
        (hearing_superseded_runs, thinned(second_drivers), "violations"),
        (of_kind(LeavesOthersOpen), single_crashes, "left"),
    ],
)
def test_a_fault_in_the_store_of_topics_is_seen(store, kind, seen):
    make = partial(two_phase_topic, store=store)
    found = caught(Family(make, Guarantee.EXACTLY_ONCE), kind)
    assert any(getattr(one, seen) for one in found)


def test_a_log_that_marks_first_is_seen_to_lose():
    make = partial(wal, atomic=True, store=MarksBeforeItsEffect)
    assert any(one.lost for one in caught(Family(make, Guarantee.EXACTLY_ONCE), single_crashes))


@pytest.mark.parametrize(
    ("process", "kind", "seen"),
    [
        (JoinsWhoeverIsThere, thinned(second_drivers), "violations"),
        (AbortsWhatItWasTold, failures, "violations"),
        (WritesReplaysAgain, single_crashes, "duplicated"),
    ],
)
def test_a_fault_in_a_process_of_a_shared_run_is_seen(process, kind, seen):
    make = partial(SharedSink, writer=WRITER, process=process)
    found = caught(Family(make, Guarantee.EXACTLY_ONCE), kind)
    assert any(getattr(one, seen) for one in found)
