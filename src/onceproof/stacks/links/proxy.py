"""The proxy process for every connection to a listener of a local stack.

It is long because links, connections and their two directions share one state and one event loop.

`python -m onceproof.stacks.links.proxy FOLDER` with the stack's folder. It opens a port ("door")
before each listener that has one, and takes orders on a control port, one JSON object a line. It
parses no protocol, changes no byte, and keeps all counts while it runs: they are the proof.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from onceproof.stacks.links import ANSWERS, REQUESTS, Order, Rule
from onceproof.stacks.links.sources import sources
from onceproof.stacks.state import DOOR, State

_HELD_AT_MOST = 1 << 18
_RESET = struct.pack("ii", 1, 0)  # linger for 0 s: close sends a TCP reset


class Way:
    """A direction of a connection, with its current `orders`; delayed bytes keep their order."""

    def __init__(self) -> None:
        self.orders: Sequence[Order] = ()
        self.origin: asyncio.Transport | None = None
        self.goal: asyncio.Transport | None = None
        self.has_lost = False  # bytes or the end of the stream, so later bytes are useless
        self._queue: deque[tuple[float, bytes]] = deque()
        self._held = 0
        self._last_due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, data: bytes) -> None:
        """Forward bytes according to the orders; empty bytes are the end of the stream."""
        if self._is_swallowed(data):
            return
        if not (self.orders or self._queue):
            self._pass_on(data)
            return
        loop = asyncio.get_running_loop()
        rules = [order.rule for order in self.orders]
        due = max(loop.time() + sum(rule.ms for rule in rules) / 1000, self._last_due)
        rates = [rule.kbytes for rule in rules if rule.kbytes]
        self._last_due = due + (len(data) / (min(rates) * 1000) if rates else 0)
        self._queue.append((self._last_due, data))
        self._held += len(data)
        for order in self.orders:
            order.counts.held_bytes += len(data)
        if self._held > _HELD_AT_MOST and self.origin:
            self.origin.pause_reading()
        self._set_timer()

    def flush(self) -> None:
        """Forward all delayed bytes now."""
        if self._timer is None:  # nothing is delayed, and reading was not paused here
            return
        self._timer.cancel()
        self._timer = None
        while self._queue:
            self._pass_first()
        self._go_on()

    def _go_on(self) -> None:
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
        if self._timer is None and self._queue:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._queue[0][0], self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._queue and self._queue[0][0] <= now:
            self._pass_first()
        self._go_on()

    def _pass_first(self) -> None:
        _, data = self._queue.popleft()
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
    """An end of a connection: it receives bytes of one direction and sends those of the other."""

    def __init__(self, comes: Way, goes: Way) -> None:
        self._comes, self._goes = comes, goes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport in both directions."""
        if isinstance(transport, asyncio.Transport):
            self._comes.origin = self._goes.goal = transport

    def data_received(self, data: bytes) -> None:
        """Forward received bytes."""
        self._comes.take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forward the end of the stream; forward a reset as a reset."""
        if exc is not None and self._comes.goal and not (self._comes.orders):
            reset(self._comes.goal)
        self._comes.take(b"")

    def pause_writing(self) -> None:
        """Pause reading while bytes cannot be forwarded."""
        if self._goes.origin:
            self._goes.origin.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading."""
        if self._goes.origin and not self._goes.origin.is_closing():
            self._goes.origin.resume_reading()


class Line:
    """A connection to a member, from the client's `port` to the proxy's `door`."""

    def __init__(self, member: str, port: int, door: int) -> None:
        self.member, self.port, self.door = member, port, door
        self.sources: frozenset[str] | None = None
        self.ways = {REQUESTS: Way(), ANSWERS: Way()}

    @property
    def has_lost(self) -> bool:
        """Whether any of its bytes were swallowed."""
        return any(way.has_lost for way in self.ways.values())

    def obey(self, orders: Sequence[Order]) -> None:
        """Apply these orders from now on."""
        for name, way in self.ways.items():
            way.orders = [order for order in orders if name in order.rule.ways]
            if not way.orders:
                way.flush()

    def reset(self) -> None:
        """Close it at once; both sides see a reset."""
        for way in self.ways.values():
            if way.origin:
                reset(way.origin)


def reset(transport: asyncio.Transport) -> None:
    """Close one end at once with a TCP reset."""
    with suppress(OSError, AttributeError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()


class Proxy:
    """All links of a stack."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.orders: dict[str, Order] = {}
        self.lines: set[Line] = set()
        self._unknown: set[Line] = set()
        self._looks = asyncio.Lock()
        self._opening: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Open every door, then the control port."""
        loop = asyncio.get_running_loop()
        for name, door in self.state.ports.items():
            if name.startswith(DOOR):
                listener = name.removeprefix(DOOR)
                host = self.state.host(listener.partition("/")[0])
                await loop.create_server(self._door_of(listener, door), host, door)
        await asyncio.start_server(self._listen, "127.0.0.1", self.state.ports["links"])

    def _door_of(self, listener: str, door: int) -> Any:
        proxy = self

        class Door(End):
            """The near end of a new connection."""

            def __init__(self) -> None:
                self.line = Line(listener.partition("/")[0], 0, door)
                super().__init__(self.line.ways[REQUESTS], self.line.ways[ANSWERS])

            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                self.line.port = transport.get_extra_info("peername")[1]
                proxy.accept(self.line, self.line.ways[REQUESTS].origin, listener)

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                if not self.line.has_lost:
                    proxy.lines.discard(self.line)

        return Door

    def accept(self, line: Line, near: Any, listener: str) -> None:
        """Refuse a new connection, or connect it to the member."""
        near.pause_reading()
        task = asyncio.ensure_future(self._admit(line, near, listener))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _admit(self, line: Line, near: Any, listener: str) -> None:
        await self._find_sources([line])
        orders = self._orders_of(line)
        for order in orders:
            if order.rule.do == "cut":
                order.counts.refused += 1
                reset(near)
                return
        line.obey(orders)
        self.lines.add(line)
        host, port = self.state.host(line.member), self.state.ports[listener]
        loop = asyncio.get_running_loop()
        try:
            ways = line.ways[ANSWERS], line.ways[REQUESTS]
            far, _ = await loop.create_connection(lambda: End(*ways), host, port)
        except OSError:  # the member is dead: nothing listens
            self.lines.discard(line)
            reset(near)
            return
        if near.is_closing():
            self.lines.discard(line)
            reset(far)
        else:
            near.resume_reading()

    async def _find_sources(self, lines: Collection[Line]) -> None:
        """Find the sources of all new lines in one scan, if a rule needs them.

        Other connections continue meanwhile: a scan is slow, and cut clients reconnect often.
        """
        if not any(order.rule.needs_sources for order in self.orders.values()):
            return
        self._unknown |= {line for line in lines if line.sources is None}
        async with self._looks:
            unknown = {(line.port, line.door): line for line in self._unknown}
            self._unknown = set()
            if unknown:
                found = await asyncio.to_thread(sources, self.state, [*unknown])
                for end, words in found.items():
                    unknown[end].sources = words

    def _orders_of(self, line: Line) -> list[Order]:
        orders = self.orders.values()
        return [one for one in orders if one.rule.applies_to(line.sources or (), line.member)]

    async def set(self, rule: Rule) -> None:
        """Put a rule in force, including for open connections."""
        self.orders[rule.name] = Order(rule)
        await self._find_sources(self.lines)
        for line in list(self.lines):
            orders = self._orders_of(line)
            line.obey(orders)
            for order in orders:
                if order.rule.do == "cut":
                    order.counts.reset += 1
                    line.reset()

    def heal(self, names: Collection[str]) -> list[dict[str, Any]]:
        """Remove rules, all if none is named; reset connections that lost bytes."""
        gone = [self.orders.pop(name) for name in list(self.orders) if not names or name in names]
        for line in self.lines:
            line.obey(self._orders_of(line))
        for line in [line for line in self.lines if line.has_lost and not self._swallows(line)]:
            for order in gone:
                if order.rule.applies_to(line.sources or (), line.member):
                    order.counts.reset_at_heal += 1
            line.reset()
            self.lines.discard(line)
        return [order.to_json() for order in gone]

    def _swallows(self, line: Line) -> bool:
        return any(
            order.rule.do == "blackhole" for way in line.ways.values() for order in way.orders
        )

    async def obey(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out an order; return every rule in force and the removed ones."""
        if order["do"] == "set":
            await self.set(Rule.of(order["rule"]))
        healed = self.heal(order["names"]) if order["do"] == "heal" else []
        in_force = [one.to_json() for one in self.orders.values()]
        return {"in_force": in_force, "healed": healed, "connections": len(self.lines)}

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(await self.obey(json.loads(line))).encode() + b"\n")
            await writer.drain()
        writer.close()


async def main(folder: Path) -> None:
    """Serve until the process is killed."""
    state = State.load(folder)
    if state is None:
        sys.exit(f"no stack in {folder}")
    await Proxy(state).open()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
