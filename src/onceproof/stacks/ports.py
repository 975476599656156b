"""Free ports, and who holds one that is not."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.identity import everyone
from onceproof.setup.checks import Check

_FIRST = 20000
_USUAL = 14


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """Give each name a port that nobody listens on.

    They lie below the range that outgoing connections take theirs from, so that none is taken
    while its member is down. Nothing depends on which ones they are: the choice needs no seed.
    """
    last = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]) - 1
    candidates = random.SystemRandom().sample(range(_FIRST, last), 400)
    free = (port for port in candidates if is_free("127.0.0.1", port))
    return dict(zip(names, free, strict=False))


def check_ports() -> Check:
    """Count the free ports that a stack of the usual size would be given."""
    found = len(free_ports(map(str, range(_USUAL))))
    remedy = f"a stack takes {_USUAL} ports from {_FIRST} upwards: end what holds so many of them"
    return Check("ports", found == _USUAL, f"{found} of {_USUAL} looked for are free", remedy)


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
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    }
    for one in everyone():
        if sockets & one.open_files():
            return f"process {one.pid} ({' '.join(one.arguments())[:60]})"
    return "a process that this user may not see"
