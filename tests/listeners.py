"""The addresses that a process listens on, from /proc."""

import os
import socket
from ipaddress import ip_address
from pathlib import Path

_LISTENS = "0A"


def listeners_of(pid: int) -> set[tuple[str, int]]:
    """Return host and port of each TCP listener of a process; empty if the process has ended."""
    try:
        handles = [_target(one) for one in Path(f"/proc/{pid}/fd").iterdir()]
        lines = [
            line.split()
            for name in ("tcp", "tcp6")
            for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
        ]
    except OSError:
        return set()
    inodes = {one[len("socket:[") : -1] for one in handles if one.startswith("socket:[")}
    return {_address(line[1]) for line in lines if line[3] == _LISTENS and line[9] in inodes}


def _target(handle: Path) -> str:
    try:
        return os.readlink(handle)
    except FileNotFoundError:  # closed in the meantime
        return ""


def _address(text: str) -> tuple[str, int]:
    host, port = text.split(":")
    raw = b"".join(bytes.fromhex(host[i : i + 8])[::-1] for i in range(0, len(host), 8))
    if len(raw) == 4:
        return socket.inet_ntoa(raw), int(port, 16)
    found = ip_address(raw)
    return str(found.ipv4_mapped or found), int(port, 16)
