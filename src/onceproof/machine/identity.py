"""A process by pid *and* start time, so that a reused pid is never mistaken for the old process.

Linux only: /proc tells, and a pidfd carries the signal, so none can reach a stranger.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_spawned: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, order=True)
class Identity:
    """One process for as long as it lives: its pid and the clock tick of its start."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """Return who has this pid now, or None if nobody does; a zombie is nobody.

        A JVM's first thread may be a zombie while others still hold its ports: that is not dead.
        """
        fields = _stat(pid)
        is_gone = fields is None or (fields[0] in "ZX" and int(fields[17]) <= 1)
        return None if fields is None or is_gone else cls(pid, int(fields[19]))

    @property
    def is_alive(self) -> bool:
        """Whether the process runs or is stopped; a zombie is dead."""
        _collect(self.pid)
        return Identity.of(self.pid) == self

    @property
    def is_paused(self) -> bool:
        """Whether the process stands still after SIGSTOP."""
        fields = _stat(self.pid)
        return self.is_alive and fields is not None and fields[0] == "T"

    @property
    def session(self) -> int | None:
        """The session it belongs to, which is the pid of the process that began it."""
        fields = _stat(self.pid)
        return int(fields[3]) if fields is not None and Identity.of(self.pid) == self else None

    @property
    def rss_limit(self) -> int | None:
        """The soft limit of its resident set in bytes; None if the process is gone."""
        fields = _stat(self.pid)
        return int(fields[22]) if fields is not None and Identity.of(self.pid) == self else None

    def ancestors(self) -> list[Identity]:
        """Return its living parent, that one's parent, and so on."""
        found: list[Identity] = []
        fields = _stat(self.pid) if self.is_alive else None
        while fields is not None and (parent := Identity.of(int(fields[1]))):
            found.append(parent)
            fields = _stat(parent.pid)
        return found

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to this very process; False if it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.is_alive:
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True

    def pss_bytes(self) -> int:
        """Return its memory, shared pages divided among their users; 0 if it is gone."""
        try:
            lines = (PROC / f"{self.pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            return 0
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    def maps_file(self, path: Path) -> bool:
        """Whether the process has this file mapped into its memory."""
        try:
            return str(path) in (PROC / f"{self.pid}/maps").read_text(errors="replace")
        except OSError:
            return False

    def works_in(self, folder: Path) -> bool:
        """Whether this folder is the process's working directory."""
        try:
            return (PROC / f"{self.pid}/cwd").readlink() == folder
        except OSError:
            return False

    def runs(self, program: Path) -> bool:
        """Whether this program is what the process runs."""
        try:
            return (PROC / f"{self.pid}/exe").readlink() == program.resolve()
        except OSError:
            return False

    def open_files(self) -> set[str]:
        """Return what its handles point to; empty if the process is gone or somebody else's."""
        found = set()
        with contextlib.suppress(OSError):
            for handle in (PROC / f"{self.pid}/fd").iterdir():
                with contextlib.suppress(OSError):  # closed meanwhile
                    found.add(str(handle.readlink()))
        return found

    def arguments(self) -> list[str]:
        """Return the command line; empty if the process is gone."""
        try:
            raw = (PROC / f"{self.pid}/cmdline").read_bytes()
        except OSError:
            return []
        return [part.decode(errors="replace") for part in raw.split(b"\0") if part]

    def variable(self, name: str) -> str | None:
        """Return what this variable was when the process was started; None if it was not set."""
        try:
            raw = (PROC / f"{self.pid}/environ").read_bytes()
        except OSError:
            return None
        found = [one for one in raw.split(b"\0") if one.startswith(f"{name}=".encode())]
        return found[0].decode(errors="replace").partition("=")[2] if found else None

    @property
    def shows_environment(self) -> bool:
        """Whether the kernel shows it: a moment after the program was begun, and of no zombie."""
        try:
            return (PROC / f"{self.pid}/environ").read_bytes() != b""
        except OSError:
            return False

    def has_environment(self, name: str, value: str) -> bool:
        """Whether the process was started with this variable set to this value."""
        return self.variable(name) == value


def all_processes() -> Iterator[Identity]:
    """Yield every process of the machine, as /proc lists them at the moment."""
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (found := Identity.of(int(entry.name))):
            yield found


def boot_id() -> str:
    """Return what is different after every start of the machine: start ticks begin anew there."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def adopt(child: subprocess.Popen[bytes]) -> Identity:
    """Return who a child of ours is; its exit status is taken when somebody asks for it next."""
    _spawned[child.pid] = child
    fields = _stat(child.pid)  # a zombie keeps its entry, so a child that died at once is known too
    if fields is None:
        raise ProcessLookupError(child.pid)
    return Identity(child.pid, int(fields[19]))


def _collect(pid: int) -> None:
    """Take the exit status of a child of ours, so that no zombie stays."""
    child = _spawned.get(pid)
    if child is not None and child.poll() is not None:
        _spawned.pop(pid, None)


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the name, which may hold blanks and brackets."""
    try:
        text = (PROC / f"{pid}/stat").read_text(errors="replace")  # a name may end in half a letter
        return text.rpartition(")")[2].split()
    except OSError:
        return None
