"""A producer: sends its tables at its rate, and writes each to the ledger once it is settled."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from onceproof.machine.polling import wait_for
from onceproof.producing.clients import Client
from onceproof.producing.rows import Sends

_TURNS_A_SECOND = 50
_MOST_A_TURN = 2000
_LOOK_EVERY_S = 0.005
# Tables with open outcomes: the limit bounds the client's memory.
_UNDER_WAY = 8
Report = Callable[[int, int], None]


class Sending:
    """The sends of one producer; calls `report` with the records offered and acknowledged so far.

    The names of its files in the ledger begin with `files`.
    """

    def __init__(self, client: Client, files: Path, limit_s: float, report: Report) -> None:
        """Store the arguments; sends nothing."""
        self._client, self._report = client, report
        self._files, self._limit_s = files, limit_s
        self._under_way: deque[Sends] = deque()
        self._offered = self._acknowledged = self._written = 0

    def run(self, tables: Iterable[Sends], rate: float = 0) -> str:
        """Send all tables; return the client's error, empty on success.

        After an error nothing more is sent, and the ledger has all records offered until then.
        """
        began = time.monotonic()
        for sends in tables:
            self._under_way.append(sends)
            self._send(sends, rate, began)
            self._settle(_UNDER_WAY)
            if self._client.error:
                break
        self._settle(0)
        while self._under_way:
            self._write()
        return self._client.error

    def _send(self, sends: Sends, rate: float, began: float) -> None:
        turn = min(_MOST_A_TURN, int(rate / _TURNS_A_SECOND) or 1) if rate else _MOST_A_TURN
        for begin in range(0, len(sends), turn):
            if rate:
                self._wait_until(began + self._offered / rate)
            end = min(begin + turn, len(sends))
            if (partitions := self._client.partitions()) > sends.partitions:
                sends.spread(begin, partitions)
            self._client.send(sends, begin, end)
            self._offered += end - begin
            self._serve()

    def _wait_until(self, due: float) -> None:
        def look() -> bool:
            self._serve()
            return time.monotonic() >= due

        wait_for(look, self._limit_s, "the next record is not due", every_s=_LOOK_EVERY_S)

    def _settle(self, most: int) -> None:
        """Wait until at most `most` tables have open outcomes, or the client has an error."""

        def look() -> bool:
            self._serve()
            while self._under_way and not self._under_way[0].open:
                self._write()
            return len(self._under_way) <= most or bool(self._client.error)

        words = "the brokers do not acknowledge the records"
        wait_for(look, self._limit_s, words, every_s=_LOOK_EVERY_S)

    def _write(self) -> None:
        sends = self._under_way.popleft()
        sends.write(self._files.with_name(f"{self._files.name}-{self._written:05d}.parquet"))
        self._written += 1
        self._acknowledged += sends.acknowledged

    def _serve(self) -> None:
        self._client.serve()
        for repeated in self._client.given_up():
            self._under_way.append(repeated)
            self._client.send(repeated, 0, len(repeated))
            self._offered += len(repeated)
        open_ones = sum(sends.acknowledged for sends in self._under_way)
        self._report(self._offered, self._acknowledged + open_ones)
