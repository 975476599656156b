"""Free ports, and who holds one that is not."""

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
    """Give each name a port that nobody listens on.

    They lie below the range that outgoing connections take theirs from, so that none is taken
    while its member is down. Nothing depends on which ones they are: the choice needs no seed.
    """
    wanted = list(names)
    last = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]) - 1
    if last < _FIRST + 1000:  # a machine that gives outgoing connections all there are
        last = 60000
    candidates = random.SystemRandom().sample(range(_FIRST, last), 400)
    free = (port for port in candidates if is_free("127.0.0.1", port))
    found = dict(zip(wanted, free, strict=False))
    if len(found) < len(wanted):
        raise RequestError(
            f"only {len(found)} of {len(wanted)} ports are free between {_FIRST} and {last}: "
            "end what holds so many of them"
        )
    return found


def check_ports() -> Check:
    """Count the free ports that a stack of the usual size would be given."""
    remedy = f"a stack takes {_USUAL} ports from {_FIRST} upwards: end what holds so many of them"
    try:
        found = len(free_ports(map(str, range(_USUAL))))
    except RequestError as error:
        return Check("ports", False, str(error).partition(":")[0], remedy)
    return Check("ports", True, f"{found} that are free, as many as a stack takes")


def is_free(host: str, port: int) -> bool:
    """Whether a listener could be opened there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def refuse_taken(member: str, addresses: Iterable[tuple[str, int]]) -> None:
    """Raise if one of a member's addresses is in use, naming the process that holds it."""
    for host, port in addresses:
        if not is_free(host, port):
            raise RequestError(
                f"port {port} on {host}, which {member} needs, is in use by {_holder(port)}: end "
                "that process, or begin a new stack, which chooses other ports"
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
    return "a process that this user may not see"
