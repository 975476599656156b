"""The recovery of a sink between attempts, and its records in the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.errors import StackError
from onceproof.fencing import read_records
from onceproof.machine.polling import comes_true
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome
from onceproof.sinks import Sink

_MOST_NAMES = 200
_WORDS = {"decided": "commit", "undone": "abort"}


@dataclass
class Recovery:
    """Recovers a sink before each attempt; the decision on an attempt at a batch is recorded once.

    `fenced` is the file in which the job's sink logs what it did against replaced attempts. If the
    store is down, recovery is repeated for at most `patience_s`, and only while `waits` is true.
    """

    sink: Sink
    history: History
    fenced: Path
    waits: Callable[[], bool]
    patience_s: float = 30.0
    _recorded: set[tuple[int, int]] = field(init=False, default_factory=set)
    _fenced: int = field(init=False, default=0)

    def settle(self) -> str:
        """Let the sink settle what dead attempts left; return the reason of a failure, if any."""
        for one in read_records(self.fenced, self._fenced):
            self._fenced += 1
            self.history.append("sink", Op.FENCED, batch=one.pop("batch"), proof=one)
        try:
            done = dict(self._recovered())
        except Exception as error:
            proof = {"reason": f"{type(error).__name__}: {error}"}
            self.history.append("sink", Op.SINK_RECOVER, Outcome.FAILED, proof=proof)
            return f"the sink's recovery failed: {error}"
        for name, word in _WORDS.items():
            self._record(done.pop(name, ()), word)
        result = {
            name: value[:_MOST_NAMES] if isinstance(value, list) else value
            for name, value in done.items()
        }
        self.history.append("sink", Op.SINK_RECOVER, proof=result)
        return ""

    def _recovered(self) -> Mapping[str, Any]:
        """Return the result of the sink's recovery, or raise its last error."""
        done: list[Mapping[str, Any]] = []

        def settles() -> bool:
            try:
                done.append(self.sink.recover())
            except StackError:
                return not self.waits()
            return True

        comes_true(settles, self.patience_s)
        return done[0] if done else self.sink.recover()

    def _record(self, attempts: Iterable[tuple[int, int]], word: str) -> None:
        for batch, attempt in sorted(set(attempts) - self._recorded):
            proof = {"decided": word}
            self.history.append("sink", Op.DECISION, batch=batch, attempt=attempt, proof=proof)
            self._recorded.add((batch, attempt))
