"""What writers have left open in a topic, for a person who is to settle it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.protocol import Part
from onceproof.sinks.protocol.checkpoint_folder import CheckpointFolder
from onceproof.sinks.protocol.coordinated import CoordinatedParts
from onceproof.sinks.protocol.transactions import Seen, part_of
from onceproof.sinks.sweep import Fate, Left, counted, decided, refuse_open_ended
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.journal import writers_of
from onceproof.sinks.topics.making import is_there
from onceproof.sinks.topics.two_phase_topic import TwoPhaseTopic
from onceproof.sinks.topics.wal_topic import WalTopic

_OPEN = "transaction"


@dataclass(frozen=True)
class TopicSweep:
    """A topic of `two_phase_topic` or `wal_topic`."""

    target: Target

    def writers(self) -> list[str]:
        """Return the writers whose journals stand beside the topic."""
        topics = Cluster.of(self.target).ask(lambda client: client.list_topics())
        found = writers_of(self.target.name, topics)
        if not found:
            raise RequestError(
                f"{self.target.name} has no writers: beside it is no topic {self.target.name}."
                "<writer>.decisions, which a sink makes that remembers its batches"
            )
        return found

    def left(self, writer: str) -> list[Left]:
        """Return the transactions that are open or decided and gone, then the parts staged."""
        with closing(self._sink(writer).parts()) as parts:
            found = _open(parts) + _gone(parts)
        log = WalTopic(self._of(writer))
        if not is_there(Cluster.of(self.target), log.stage):
            return found
        with closing(log.log()) as staged:
            named = {part for one in staged.waiting() for part in one.parts}
            return [Left("staged rows", one, self._fate(one, named)) for one in staged.parts()]

    def settle(self, writer: str) -> Mapping[str, int]:
        """Settle what is open; what is lost is given up, so that its writer can go on."""
        left = self.left(writer)
        refuse_open_ended(left)
        if any(one.kind != _OPEN for one in left):
            return counted(WalTopic(self._of(writer)).recover())
        sink, lost = self._sink(writer), {one.part.batch for one in left if one.fate is Fate.LOST}
        with closing(sink.parts()) as parts:
            parts.memory.claim(0)
            for decision in parts.memory.undone():
                if decision.batch in lost:
                    parts.give_up(decision)
            taken = parts.taken_over()
            for name, seen in taken.items():
                parts.coordinator.end(name, seen.producer, seen.epoch, commit=False)
        done = counted(sink.recover())
        done |= {"batches given up": len(lost)} if lost else {}
        return done | ({"ended that others began": len(taken)} if taken else {})

    def _fate(self, part: Part, named: set[Part]) -> Fate:
        if part not in named:
            return Fate.REMOVE
        if not self.target.checkpoint:
            return Fate.ASK
        is_committed = CheckpointFolder(self.target.checkpoint).is_committed(part.batch)
        return Fate.ADD if is_committed else Fate.STAY

    def _sink(self, writer: str) -> TwoPhaseTopic:
        return TwoPhaseTopic(self._of(writer))

    def _of(self, writer: str) -> Target:
        return replace(self.target, writer=writer)


def _open(parts: CoordinatedParts) -> list[Left]:
    ours = [
        Left(_OPEN, part, decided(parts.memory, part), _since(seen))
        for part, seen in parts.intact().items()
    ]
    others = parts.taken_over().items()
    return ours + [
        Left(_OPEN, part_of(parts.head, name)[0], Fate.TAKEN, _since(seen)) for name, seen in others
    ]


def _gone(parts: CoordinatedParts) -> list[Left]:
    return [
        Left(_OPEN, part, Fate.LOST)
        for decision in parts.memory.undone()
        for part in parts.lost(decision)
    ]


def _since(seen: Seen) -> datetime:
    return datetime.fromtimestamp(seen.started_ms / 1000, tz=UTC)
