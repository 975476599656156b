"""Who opened a connection, told by /proc: its other end is a socket in some process's hands."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from pathlib import Path

from onceproof.machine.identity import Identity, all_processes
from onceproof.stacks.members.cluster import is_executor
from onceproof.stacks.state import State

# The variable by which a run's job is known, in its driver and executors: its value is the run.
JOB = "ONCEPROOF_JOB"
_PRODUCER = "onceproof.producing"
_ESTABLISHED = "01"
# A connection by the port that it comes from and the port that it goes to.
Ends = tuple[int, int]
NO_SOURCES: frozenset[str] = frozenset()


def sources(state: State, ends: Collection[Ends]) -> dict[Ends, frozenset[str]]:
    """Return the words for who holds each connection, and nobody's for one that is gone."""
    sockets = {f"socket:[{inode}]": end for end, inode in _inodes(ends).items()}
    brokers = [f"broker:{i + 1}" for i in range(state.brokers)]
    members = {one: name for name in brokers if (one := state.identity(name))}
    found = dict.fromkeys(ends, NO_SOURCES)
    # Brokers come first, since they try again the oftenest; who is found need not be looked for.
    for one in chain(members, all_processes()):
        if not sockets:
            break
        for socket in one.open_files() & sockets.keys():
            found[sockets.pop(socket)] = source_names(one, members.get(one, ""))
    return found


def source_names(one: Identity, member: str) -> frozenset[str]:
    """Return what a process goes by as a source; `member` is the broker that it is, if it is one.

    A driver and an executor go by their run too: `driver=RUN`.
    """
    if member:
        return frozenset((member, "brokers"))
    run = one.variable(JOB)
    if run is not None:
        kind = "executor" if any(map(is_executor, (one, *one.ancestors()))) else "driver"
        return frozenset(("clients", kind, f"{kind}={run}"))
    return frozenset(("clients", *(["producer"] if _PRODUCER in one.arguments() else [])))


def _inodes(ends: Collection[Ends]) -> dict[Ends, str]:
    """Return the socket of each connection that is still open on its other end."""
    found = {}
    for table in Path("/proc/net").glob("tcp*"):  # tcp, and tcp6 where the kernel has it
        for line in table.read_text().splitlines()[1:]:
            cells = line.split()
            near, far = (int(cell.rpartition(":")[2], 16) for cell in cells[1:3])
            if (near, far) in ends and cells[3] == _ESTABLISHED:
                found[near, far] = cells[9]
    return found
