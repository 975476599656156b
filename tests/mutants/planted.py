"""Every planted fault: how it is made, what strikes it at which step, and as what it is caught."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

from tests.model.families import FAMILIES, WRITER, Family, two_phase, two_phase_topic, wal
from tests.model.schedules import (
    dozing_attempts,
    failures,
    lingering_attempts,
    power_cuts,
    single_crashes,
    sleeping_attempts,
    watched_crashes,
)
from tests.model.shared_runs import SharedSink
from tests.model.two_drivers import second_drivers
from tests.mutants import of_tables as tables
from tests.mutants import of_topics
from tests.mutants import of_two_phase as of

# What an outcome counts, in the words of the judge; the last two only the model can see.
CLASSES = {
    "lost": "lost",
    "duplicated": "duplicated",
    "changed": "changed",
    "stuck": "stuck",
    "taken_back": "uncommitted_read",
    "left": "left open",
    "violations": "forbidden",
}
STRIKES = {
    "dies": "the job dies",
    "raises": "the step raises",
    "wakes": "an attempt that was given up goes on",
    "holds 0": "another driver moves",
}


@dataclass(frozen=True)
class Mutant:
    """A correct family with one fault in it.

    Every schedule of `kind` that strikes at the step `at` must catch it as `seen`, a count of an
    `Outcome`; where two drivers move in turns, some must, since it is the other's steps that matter
    as well.
    """

    fault: str
    family: str
    made: Family
    seen: str
    how: str
    at: str
    kind: Callable
    says: str = ""

    def is_caught(self, outcome):
        if self.seen == "violations":
            return any(self.says in one for one in outcome.violations)
        return getattr(outcome, self.seen) > 0

    @property
    def struck_by(self):
        return "the machine dies" if self.kind is power_cuts else STRIKES[self.how]

    @property
    def caught_as(self):
        return " ".join(filter(None, [CLASSES[self.seen], f"({self.says})" if self.says else ""]))


@cache
def caught(mutant):
    """At each step, how many schedules strike there, and how many of them catch the mutant."""
    struck, found = Counter(), Counter()
    for one in mutant.kind(mutant.made):
        point = one.point(mutant.how)
        struck[point] += 1
        found[point] += mutant.is_caught(one)
    return {point: (found[point], number) for point, number in struck.items()}


TURNS = partial(second_drivers, every=8)
CALM_SLEEP = partial(sleeping_attempts, dies=False)
KINDS = {"dies": single_crashes, "raises": failures, "wakes": CALM_SLEEP, "holds 0": TURNS}


def mutant(fault, family, make, seen, how, at, kind=None, says="", **changes):
    made = replace(FAMILIES[family], make=make, **changes)
    return Mutant(fault, family, made, seen, how, at, kind or KINDS[how], says)


def protocol(fault, wrong, *seen, **more):
    return mutant(fault, "two_phase", partial(two_phase, protocol=wrong), *seen, **more)


def store(fault, wrong, *seen, **more):
    return mutant(fault, "two_phase", partial(two_phase, store=wrong), *seen, **more)


def topic(fault, wrong, *seen, **more):
    made = partial(two_phase_topic, store=wrong)
    return mutant(f"{fault}, on Kafka", "two_phase_topic", made, *seen, **more)


def log(fault, wrong, *seen):
    return mutant(fault, "wal_atomic", partial(wal, atomic=True, store=wrong), *seen)


def shared(fault, wrong, *seen, **more):
    made = partial(SharedSink, writer=WRITER, process=wrong)
    return mutant(f"{fault}, as a data source", "two_phase_shared", made, *seen, **more)


PREPARED, DECIDING = "all_pre_committed", "behind all_pre_committed"
MUTANTS = [
    store(
        "a part is committed at its pre-commit",
        of.CommitsAtPreCommit,
        "duplicated",
        "dies",
        "task_done 1/2",
    ),
    protocol(
        "the decision comes behind the first commit",
        of.DecidesBehindTheFirstCommit,
        "duplicated",
        "dies",
        "commit_half",
    ),
    protocol("nothing is decided", of.DecidesNothing, "duplicated", "dies", "commit_half"),
    protocol(
        "a decided batch is rolled back by the next run",
        of.RollsDecidedBatchesBack,
        "lost",
        "dies",
        "decided",
    ),
    protocol(
        "a decided batch is aborted by the run that fails",
        of.AbortsWhatFails,
        "lost",
        "raises",
        "decided",
    ),
    shared(
        "a decided batch is aborted by the run that fails",
        of.AbortsReportedParts,
        "lost",
        "raises",
        "decided",
    ),
    protocol("nothing is rolled back", of.RollsNothingBack, "left", "dies", PREPARED),
    topic("nothing is rolled back", of_topics.leaving_others_open, "stuck", "dies", PREPARED),
    protocol("what lost is not swept", of.SweepsTheOldOnly, "left", "wakes", "the end"),
    protocol(
        "a replay is not drained",
        of.ReturnsEarly,
        "violations",
        "dies",
        "sink_committed",
        says="returned early",
    ),
    shared(
        "a replay is written again", of.WritesReplaysAgain, "duplicated", "dies", "sink_committed"
    ),
    store("claims are ignored", of.IgnoresClaims, "lost", "holds 0", DECIDING),
    topic("claims are ignored", of_topics.hearing_superseded_runs, "lost", "holds 0", DECIDING),
    shared(
        "claims are ignored",
        of.JoinsAnyRun,
        "violations",
        "holds 0",
        "task_done 2/2",
        says="is undone by run",
    ),
    store(
        "a batch is decided twice",
        of.DecidesTwice,
        "violations",
        "holds 0",
        DECIDING,
        says="was decided by runs",
    ),
    protocol(
        "a recovery settles before it claims", of.RecoversWithoutAClaim, "lost", "holds 0", DECIDING
    ),
    protocol(
        "parts of a newer run are swept",
        of.SweepsWhoeverWrites,
        "violations",
        "holds 0",
        "decided",
        says="is undone by run",
    ),
    mutant(
        "a replay is known by partition and epoch",
        "idempotent",
        tables.ByPartitionAndEpoch,
        "lost",
        "dies",
        "task_done 1/2",
    ),
    mutant(
        "rows are put by a random key",
        "idempotent",
        tables.ByARandomKey,
        "duplicated",
        "dies",
        "written",
    ),
    mutant(
        "an older batch overwrites a newer one",
        "idempotent",
        tables.OlderOverwritesNewer,
        "changed",
        "wakes",
        "the end",
    ),
    log(
        "the mark comes before its effect",
        tables.MarksBeforeItsEffect,
        "lost",
        "dies",
        "apply_half",
    ),
    log(
        "the mark is in another database",
        tables.MarksInAnotherDatabase,
        "duplicated",
        "dies",
        "applied_unmarked",
    ),
    store(
        "a file is renamed before it is synced",
        of.RenamesBeforeItSyncs,
        "lost",
        "dies",
        "commit_half",
        kind=power_cuts,
    ),
    store(
        "a part is acknowledged before it is flushed",
        of.AcknowledgesBeforeItFlushes,
        "lost",
        "dies",
        "decided",
    ),
    mutant(
        "readers read uncommitted, on Kafka",
        "two_phase_topic",
        two_phase_topic,
        "taken_back",
        "dies",
        PREPARED,
        kind=watched_crashes,
        reads=of_topics.uncommitted,
    ),
    mutant(
        "attempts at a task share a transactional id, on Kafka",
        "two_phase_topic",
        partial(two_phase_topic, store=of_topics.reusing_ids, protocol=of_topics.ReusesIds),
        "lost",
        "wakes",
        "decided",
        kind=dozing_attempts,
    ),
    topic(
        "transactions are ended by EndTxn v3",
        of_topics.ended_by_v3,
        "duplicated",
        "wakes",
        "behind its batch",
        kind=lingering_attempts,
    ),
]
