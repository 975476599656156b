"""The process that every connection to a listener of a local stack goes through.

`python -m onceproof.stacks.links.proxy FOLDER` with the stack's folder. It opens a door before each
listener that has one, and is told on a port of its own, a JSON object a line, what to do. It knows
nobody's protocol, changes no byte and forgets nothing while it lives: what it counted is the proof.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from onceproof.stacks.links.line import End, Line, reset
from onceproof.stacks.links.rules import ANSWERS, REQUESTS, Order, Rule
from onceproof.stacks.links.sources import sources
from onceproof.stacks.state import DOOR, State


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
        """Open every door, then the port on which orders come."""
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
        """Refuse a new connection, or lead it on to the member."""
        near.pause_reading()
        task = asyncio.ensure_future(self._admit(line, near, listener))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _admit(self, line: Line, near: Any, listener: str) -> None:
        await self._know([line])
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
        except OSError:  # the member is dead: nobody listens
            self.lines.discard(line)
            reset(near)
            return
        if near.is_closing():
            self.lines.discard(line)
            reset(far)
        else:
            near.resume_reading()

    async def _know(self, lines: Collection[Line]) -> None:
        """Find out who is at the other end, if a rule asks for it: of all that wait at once.

        Others go on meanwhile: a look takes a while, and who is cut off tries again and again.
        """
        if not any(order.rule.asks_who for order in self.orders.values()):
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
        """Return what holds for a connection."""
        orders = self.orders.values()
        return [one for one in orders if one.rule.means(line.sources or (), line.member)]

    async def set(self, rule: Rule) -> None:
        """Let a rule hold, also for the connections that are open."""
        self.orders[rule.name] = Order(rule)
        await self._know(self.lines)
        for line in list(self.lines):
            orders = self._orders_of(line)
            line.obey(orders)
            for order in orders:
                if order.rule.do == "cut":
                    order.counts.reset += 1
                    line.reset()

    def heal(self, names: Collection[str]) -> list[dict[str, Any]]:
        """Take rules back, all where none is named; a connection that lost bytes is reset."""
        gone = [self.orders.pop(name) for name in list(self.orders) if not names or name in names]
        for line in self.lines:
            line.obey(self._orders_of(line))
        for line in [line for line in self.lines if line.has_lost and not self._swallows(line)]:
            for order in gone:
                if order.rule.means(line.sources or (), line.member):
                    order.counts.reset_at_heal += 1
            line.reset()
            self.lines.discard(line)
        return [order.told() for order in gone]

    def _swallows(self, line: Line) -> bool:
        return any(
            order.rule.do == "blackhole" for way in line.ways.values() for order in way.orders
        )

    async def obey(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Do what an order says, and tell of every rule in force and of those taken back."""
        if told["do"] == "set":
            await self.set(Rule.of(told["rule"]))
        healed = self.heal(told["names"]) if told["do"] == "heal" else []
        in_force = [order.told() for order in self.orders.values()]
        return {"in_force": in_force, "healed": healed, "connections": len(self.lines)}

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(await self.obey(json.loads(line))).encode() + b"\n")
            await writer.drain()
        writer.close()


async def main(folder: Path) -> None:
    """Serve until the process is ended."""
    state = State.load(folder)
    if state is None:
        sys.exit(f"no stack was begun in {folder}")
    await Proxy(state).open()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
