"""The sources of connections, found in /proc: the processes that hold the clients' sockets."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from pathlib import Path

from onceproof.machine.identity import Identity, all_processes
from onceproof.stacks.members.cluster import is_executor
from onceproof.stacks.state import State

# The environment variable of a job's driver and executors that contains the run's name.
JOB = "ONCEPROOF_JOB"
_PRODUCER = "onceproof.producing"
_ESTABLISHED = "01"
# A connection's source port and destination port.
Ends = tuple[int, int]
NO_SOURCES: frozenset[str] = frozenset()


def sources(state: State, ends: Collection[Ends]) -> dict[Ends, frozenset[str]]:
    """Return each connection's source names; empty for a connection that is closed."""
    sockets = {f"socket:[{inode}]": end for end, inode in _inodes(ends).items()}
    brokers = [f"broker:{i + 1}" for i in range(state.brokers)]
    members = {one: name for name in brokers if (one := state.identity(name))}
    found = dict.fromkeys(ends, NO_SOURCES)
    # Brokers first, since they reconnect most often and the scan ends when all sockets are found.
    for one in chain(members, all_processes()):
        if not sockets:
            break
        for socket in one.open_files() & sockets.keys():
            found[sockets.pop(socket)] = source_names(one, members.get(one, ""))
    return found


def source_names(one: Identity, member: str) -> frozenset[str]:
    """Return a process's names as a source; `member` is its broker's name, or empty.

    A driver and an executor also have their run's name: `driver=RUN`.
    """
    if member:
        return frozenset((member, "brokers"))
    run = one.variable(JOB)
    if run is not None:
        kind = "executor" if any(map(is_executor, (one, *one.ancestors()))) else "driver"
        return frozenset(("clients", kind, f"{kind}={run}"))
    return frozenset(("clients", *(["producer"] if _PRODUCER in one.arguments() else [])))


def _inodes(ends: Collection[Ends]) -> dict[Ends, str]:
    # The socket of each connection that is still open at its source.
    found = {}
    for table in Path("/proc/net").glob("tcp*"):  # tcp, and tcp6 where the kernel has it
        for line in table.read_text().splitlines()[1:]:
            cells = line.split()
            near, far = (int(cell.rpartition(":")[2], 16) for cell in cells[1:3])
            if (near, far) in ends and cells[3] == _ESTABLISHED:
                found[near, far] = cells[9]
    return found
