"""What Kafka's coordinator of transactions answers, kept in memory.

It is held to the answers of real brokers by a contract test. What takes brokers a moment is done at
once here: a transaction is complete as soon as it is ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from onceproof.sinks.protocol.coordinated import ABORTED, COMMITTED, ONGOING, Seen

_ENDED = {True: COMMITTED, False: ABORTED}


@dataclass
class Transactions:
    """A coordinator's own books, of all ids that it was ever asked for."""

    known: dict[str, Seen] = field(default_factory=dict)

    def init(self, name: str) -> tuple[int, int]:
        """Give an id to a producer: what is open under it is aborted, and its epoch rises."""
        was = self.known.get(name)
        if was is None:
            now = Seen("Empty", len(self.known), 0)
        else:
            now = Seen("Empty", was.producer, was.epoch + 1 + (was.state == ONGOING))
        self.known[name] = now
        return now.producer, now.epoch

    def write(self, name: str, epoch: int) -> bool:
        """Write something, which opens a transaction; False to a producer that was fenced."""
        was = self.known[name]
        if was.epoch != epoch:
            return False
        self.known[name] = replace(was, state=ONGOING)
        return True

    def expire(self, name: str) -> None:
        """Abort what is open, as at its time-out."""
        was = self.known[name]
        self.known[name] = replace(was, state=ABORTED, epoch=was.epoch + 1)

    def end(self, name: str, producer: int, epoch: int, *, commit: bool) -> str:
        """End what is open; the answer is a word of Kafka's errors, or `ok`."""
        was = self.known.get(name)
        if was is None or was.producer != producer:
            return "InvalidProducerIdMapping"
        if was.state == ONGOING and was.epoch == epoch:
            self.known[name] = replace(was, state=_ENDED[commit], epoch=epoch + 1)
            return "ok"
        if was.state in _ENDED.values() and was.epoch == epoch + 1:
            return "ok" if was.state == _ENDED[commit] else "InvalidTxnState"
        return "ProducerFenced"
