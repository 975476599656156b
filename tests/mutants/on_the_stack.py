"""Sinks of PostgreSQL, files and Kafka with one fault each, for jobs and runs on the real stack.

A scenario names one as `tests.mutants.on_the_stack:DecidesNothing`, with the repository on
PYTHONPATH. The protocols are those of the model's mutants.
"""

from dataclasses import dataclass
from unittest.mock import patch

from onceproof.guarantee import Guarantee
from onceproof.sinks.files.two_phase_files import TwoPhaseFiles
from onceproof.sinks.tables.append_table import AppendTable
from onceproof.sinks.tables.two_phase_table import TwoPhaseTable
from onceproof.sinks.tables.wal_table import StagedRows, WalTable, WalTableAtomic
from onceproof.sinks.topics.reader import ALL, TopicReader
from onceproof.sinks.topics.two_phase_topic import TwoPhaseTopic
from tests.mutants import of_two_phase as of


def broken(kind, protocol):
    """A sink of two-phase commit that runs another protocol."""

    def begun(self):
        right = kind.begun(self)
        return protocol(right.store, right.writer, right.step)

    return type(protocol.__name__, (kind,), {"begun": begun})


def broken_topic(protocol):
    """The same of topics."""

    def driver(self, parts):
        right = TwoPhaseTopic._driver(self, parts)
        return protocol(right.store, right.writer, right.step)

    return type(f"{protocol.__name__}InTopics", (TwoPhaseTopic,), {"_driver": driver})


class ReadsUncommitted(TwoPhaseTopic):
    """Its readers see what is open, or was aborted later."""

    def reader(self):
        return TopicReader(self.target, ALL)

    def read(self, folder):
        with patch("onceproof.sinks.topics.reader.COMMITTED", ALL):
            return super().read(folder)


DecidesNothing = broken(TwoPhaseTable, of.DecidesNothing)
DecidesBehindTheFirstCommit = broken(TwoPhaseTable, of.DecidesBehindTheFirstCommit)
RollsDecidedBatchesBack = broken(TwoPhaseFiles, of.RollsDecidedBatchesBack)
AbortsWhatFails = broken(TwoPhaseTable, of.AbortsWhatFails)
RollsNothingBack = broken(TwoPhaseTable, of.RollsNothingBack)
RollsNothingBackInTopics = broken_topic(of.RollsNothingBack)


class ByARandomKey(AppendTable):
    """What an upsert by a key that is drawn anew comes to: every row is another one."""

    guarantee = Guarantee.EXACTLY_ONCE


class MarksFirst(StagedRows):
    def apply(self, decision, epoch, half, *, mark):
        if not super().mark(decision, epoch):
            return False
        half()
        with self.session.open().transaction():
            self._put([part.name for part in decision.parts])
        return True


class MarksBeforeItsEffect(WalTableAtomic):
    @property
    def _log(self):
        return MarksFirst(self._session)


class MarksInAnotherDatabase(WalTable):
    """What was to be one transaction is two."""

    guarantee = Guarantee.EXACTLY_ONCE


@dataclass(frozen=True)
class OnTheStack:
    """A mutant, the fault at its driver with its step, and the anomalies that the judge must find.

    A transaction that is stuck in a topic hides later rows, so these are lost to readers as well.
    `read` has the other anomalies of readers during the run.
    """

    fault: str
    sink: type
    point: str
    seen: str
    verb: str = "kill"
    read: str = ""

    @property
    def classes(self):
        return [one for one in (*self.seen.split(" and "), self.read) if one]

    @property
    def name(self):
        return f"{__name__}:{self.sink.__name__}"


ON_THE_STACK = [
    OnTheStack(
        "nothing is decided",
        *(DecidesNothing, "commit_half", "duplicated"),
        read="uncommitted_read",
    ),
    OnTheStack(
        "the decision comes behind the first commit",
        *(DecidesBehindTheFirstCommit, "commit_half", "duplicated"),
        read="uncommitted_read",
    ),
    OnTheStack(
        "a decided batch is rolled back by the next run",
        *(RollsDecidedBatchesBack, "decided", "lost"),
    ),
    OnTheStack(
        "a decided batch is aborted by the run that fails",
        *(AbortsWhatFails, "decided", "lost", "raise"),
    ),
    OnTheStack("nothing is rolled back", RollsNothingBack, "all_pre_committed", "stuck"),
    OnTheStack(
        "nothing is rolled back, on Kafka",
        *(RollsNothingBackInTopics, "all_pre_committed", "lost and stuck"),
    ),
    OnTheStack(
        "readers read uncommitted, on Kafka",
        *(ReadsUncommitted, "all_pre_committed", "duplicated"),
        read="uncommitted_read",
    ),
    OnTheStack("rows are put by a random key", ByARandomKey, "written", "duplicated"),
    OnTheStack("the mark comes before its effect", MarksBeforeItsEffect, "apply_half", "lost"),
    OnTheStack(
        "the mark is in another database",
        *(MarksInAnotherDatabase, "applied_unmarked", "duplicated"),
    ),
]
# Those that every test of the whole project tries, in jobs.
_JOBS = (DecidesNothing, RollsDecidedBatchesBack, MarksBeforeItsEffect)
IN_JOBS = [one for one in ON_THE_STACK if one.sink in _JOBS]
