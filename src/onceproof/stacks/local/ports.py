"""Selection of free ports, and the processes that use taken ones."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.machine.identity import all_processes
from onceproof.setup.checks import Check

_FIRST = 20000
_USUAL = 14


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """Return a free port for each name.

    The ports are below the range for outgoing connections, so that none is taken while its member
    is down. The choice is random without the run's seed, since nothing depends on it.
    """
    wanted = list(names)
    last = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]) - 1
    if last < _FIRST + 1000:  # this machine uses nearly all ports for outgoing connections
        last = 60000
    candidates = random.SystemRandom().sample(range(_FIRST, last), 400)
    free = (port for port in candidates if is_free("127.0.0.1", port))
    found = dict(zip(wanted, free, strict=False))
    if len(found) < len(wanted):
        raise RequestError(
            f"only {len(found)} of {len(wanted)} needed ports are free between {_FIRST} and "
            f"{last}; end processes that use many ports"
        )
    return found


def check_ports() -> Check:
    """Check that there are enough free ports for a stack of the usual size."""
    try:
        free_ports(map(str, range(_USUAL)))
    except RequestError as error:
        value, _, remedy = str(error).partition("; ")
        return Check("ports", False, value, remedy)
    return Check("ports", True, f"{_USUAL} free ports, enough for a stack")


def is_free(host: str, port: int) -> bool:
    """Return whether a listener could be opened there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def refuse_taken(member: str, addresses: Iterable[tuple[str, int]]) -> None:
    """Raise `RequestError` if one of a member's addresses is in use; name the process."""
    for host, port in addresses:
        if not is_free(host, port):
            raise RequestError(
                f"port {port} on {host}, which {member} needs, is in use by {_holder(port)}; end "
                "that process, or start a new stack, which chooses other ports"
            )


def _holder(port: int) -> str:
    sockets = {
        f"socket:[{line.split()[9]}]"
        for table in Path("/proc/net").glob("tcp*")  # tcp, and tcp6 where the kernel has it
        for line in table.read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    }
    for one in all_processes():
        if sockets & one.open_files():
            return f"process {one.pid} ({' '.join(one.arguments())[:60]})"
    return "another user's process"
