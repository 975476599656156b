"""One connection through a link: what goes each way, in order, at once or later, or never."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from onceproof.stacks.links.rules import ANSWERS, REQUESTS, Order

_HELD_AT_MOST = 1 << 18
_RESET = struct.pack("ii", 1, 0)  # linger for no time: the other side is told of a reset


class Way:
    """What goes one way. `orders` hold for it now; whatever waits keeps its place in the row."""

    def __init__(self) -> None:
        self.orders: Sequence[Order] = ()
        self.origin: asyncio.Transport | None = None
        self.goal: asyncio.Transport | None = None
        self.has_lost = False  # bytes, or the other side's end: the rest would make no sense
        self._row: deque[tuple[float, bytes]] = deque()
        self._held = 0
        self._last_due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, data: bytes) -> None:
        """Pass bytes on as the orders want it; empty bytes are the end."""
        if self._is_swallowed(data):
            return
        if not (self.orders or self._row):
            self._pass_on(data)
            return
        loop = asyncio.get_running_loop()
        rules = [order.rule for order in self.orders]
        due = max(loop.time() + sum(rule.ms for rule in rules) / 1000, self._last_due)
        rates = [rule.kbytes for rule in rules if rule.kbytes]
        self._last_due = due + (len(data) / (min(rates) * 1000) if rates else 0)
        self._row.append((self._last_due, data))
        self._held += len(data)
        for order in self.orders:
            order.counts.held_bytes += len(data)
        if self._held > _HELD_AT_MOST and self.origin:
            self.origin.pause_reading()
        self._set_timer()

    def hurry(self) -> None:
        """Pass on all that waits."""
        if self._timer is None:  # nothing waits, and who reads on decides that himself
            return
        self._timer.cancel()
        self._timer = None
        while self._row:
            self._pass_first()
        self._go_on()

    def _go_on(self) -> None:
        """Take more where so little waits, and look again when the next is due."""
        if self._held <= _HELD_AT_MOST and self.origin and not self.origin.is_closing():
            self.origin.resume_reading()
        self._set_timer()

    def _is_swallowed(self, data: bytes) -> bool:
        holes = [order for order in self.orders if order.rule.do == "blackhole"]
        for order in holes:
            order.counts.swallowed_bytes += len(data)
        self.has_lost = self.has_lost or bool(holes)
        return self.has_lost

    def _set_timer(self) -> None:
        if self._timer is None and self._row:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._row[0][0], self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._row and self._row[0][0] <= now:
            self._pass_first()
        self._go_on()

    def _pass_first(self) -> None:
        _, data = self._row.popleft()
        self._held -= len(data)
        self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        if self.goal is None or self.goal.is_closing():
            return
        if data:
            self.goal.write(data)
        else:
            self.goal.close()


class End(asyncio.Protocol):
    """One end of a connection: what comes in goes the one way, what goes out came the other."""

    def __init__(self, comes: Way, goes: Way) -> None:
        self._comes, self._goes = comes, goes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Know the end by its transport."""
        if isinstance(transport, asyncio.Transport):
            self._comes.origin = self._goes.goal = transport

    def data_received(self, data: bytes) -> None:
        """Pass on what came."""
        self._comes.take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass the end on; a reset as a reset."""
        if exc is not None and self._comes.goal and not (self._comes.orders):
            reset(self._comes.goal)
        self._comes.take(b"")

    def pause_writing(self) -> None:
        """Take no more than can be passed on."""
        if self._goes.origin:
            self._goes.origin.pause_reading()

    def resume_writing(self) -> None:
        """Take more."""
        if self._goes.origin and not self._goes.origin.is_closing():
            self._goes.origin.resume_reading()


class Line:
    """One connection to a member; `port` is the one it came from, `door` the one it came to."""

    def __init__(self, member: str, port: int, door: int) -> None:
        self.member, self.port, self.door = member, port, door
        self.sources: frozenset[str] | None = None
        self.ways = {REQUESTS: Way(), ANSWERS: Way()}

    @property
    def has_lost(self) -> bool:
        """Whether bytes of it were swallowed."""
        return any(way.has_lost for way in self.ways.values())

    def obey(self, orders: Sequence[Order]) -> None:
        """Let these orders hold from now on."""
        for name, way in self.ways.items():
            way.orders = [order for order in orders if name in order.rule.ways]
            if not way.orders:
                way.hurry()

    def reset(self) -> None:
        """End it at once; both sides are told of a reset."""
        for way in self.ways.values():
            if way.origin:
                reset(way.origin)


def reset(transport: asyncio.Transport) -> None:
    """End one end at once, and let the other side of it know that this was no good end."""
    with suppress(OSError, AttributeError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
