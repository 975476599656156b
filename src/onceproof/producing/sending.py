"""One producer: sends its tables at its rate, and writes each to the ledger once it is settled."""

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
# Tables whose outcomes may be open at once: so the client's memory has a bound.
_UNDER_WAY = 8
Told = Callable[[int, int], None]


class Sending:
    """The sends of one producer; `told` hears how many were offered and acknowledged so far."""

    def __init__(self, client: Client, files: Path, limit_s: float, told: Told) -> None:
        """Make it; the names of its files in the ledger begin with `files`."""
        self._client, self._told = client, told
        self._files, self._limit_s = files, limit_s
        self._under_way: deque[Sends] = deque()
        self._offered = self._acknowledged = self._written = 0

    def run(self, tables: Iterable[Sends], rate: float = 0) -> str:
        """Send all, and return the error that the client met, if any.

        After an error no more is sent, and the ledger tells of all that was offered until then.
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
            self._tell()

    def _wait_until(self, due: float) -> None:
        def look() -> bool:
            self._tell()
            return time.monotonic() >= due

        wait_for(look, self._limit_s, "the next record is not due yet", every_s=_LOOK_EVERY_S)

    def _settle(self, most: int) -> None:
        """Wait until at most so many tables are under way, or the client has given up."""

        def look() -> bool:
            self._tell()
            while self._under_way and not self._under_way[0].open:
                self._write()
            return len(self._under_way) <= most or bool(self._client.error)

        words = "the brokers do not acknowledge what was sent"
        wait_for(look, self._limit_s, words, every_s=_LOOK_EVERY_S)

    def _write(self) -> None:
        sends = self._under_way.popleft()
        sends.write(self._files.with_name(f"{self._files.name}-{self._written:05d}.parquet"))
        self._written += 1
        self._acknowledged += sends.acknowledged

    def _tell(self) -> None:
        self._client.serve()
        for again in self._client.given_up():
            self._under_way.append(again)
            self._client.send(again, 0, len(again))
            self._offered += len(again)
        open_ones = sum(sends.acknowledged for sends in self._under_way)
        self._told(self._offered, self._acknowledged + open_ones)
