"""Process identity: pid *and* start time, so that a reused pid is never taken for the old process.

Linux only: it reads /proc, and sends signals through a pidfd, so that no signal can reach another
process.
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
_spawned: dict[Identity, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, order=True)
class Identity:
    """A process, identified by its pid and the clock tick of its start."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """Return the process that has this pid now; None if no process has it, or a zombie.

        A JVM whose main thread is a zombie while other threads hold its ports counts as alive.
        """
        fields = _stat(pid)
        is_gone = fields is None or (fields[0] in "ZX" and int(fields[17]) <= 1)
        return None if fields is None or is_gone else cls(pid, int(fields[19]))

    @property
    def is_alive(self) -> bool:
        """Whether the process runs or is stopped; a zombie is not alive."""
        _collect(self)
        return Identity.of(self.pid) == self

    @property
    def exit_code(self) -> int | None:
        """The exit code of our own child, negative for a signal; None if it lives or is unknown.

        The kernel keeps no exit code for a parent that ignores SIGCHLD.
        """
        child = _spawned.get(self)
        if child is None or self.is_alive or signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            return None
        return child.wait()

    @property
    def is_paused(self) -> bool:
        """Whether the process is stopped by SIGSTOP."""
        fields = _stat(self.pid)
        return self.is_alive and fields is not None and fields[0] == "T"

    @property
    def session(self) -> int | None:
        """Its session id, which is the pid of the session leader; None if the process is gone."""
        fields = _stat(self.pid)
        return int(fields[3]) if fields is not None and Identity.of(self.pid) == self else None

    @property
    def rss_limit(self) -> int | None:
        """Its soft limit of the resident set in bytes; None if the process is gone."""
        fields = _stat(self.pid)
        return int(fields[22]) if fields is not None and Identity.of(self.pid) == self else None

    def ancestors(self) -> list[Identity]:
        """Return its living parent, grandparent and so on, nearest first."""
        found: list[Identity] = []
        fields = _stat(self.pid) if self.is_alive else None
        while fields is not None and (parent := Identity.of(int(fields[1]))):
            found.append(parent)
            fields = _stat(parent.pid)
        return found

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to exactly this process; return False if it is gone."""
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
        """Return its proportional set size; 0 if it is gone."""
        try:
            lines = (PROC / f"{self.pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            return 0
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    def maps_file(self, path: Path) -> bool:
        """Return whether the process has mapped this file into its memory."""
        try:
            return str(path) in (PROC / f"{self.pid}/maps").read_text(errors="replace")
        except OSError:
            return False

    def works_in(self, folder: Path) -> bool:
        """Return whether this folder is the process's working directory."""
        try:
            return (PROC / f"{self.pid}/cwd").readlink() == folder
        except OSError:
            return False

    def runs(self, program: Path) -> bool:
        """Return whether the process runs this program."""
        try:
            return (PROC / f"{self.pid}/exe").readlink() == program.resolve()
        except OSError:
            return False

    def open_files(self) -> set[str]:
        """Return the targets of its file handles; empty if it is gone or another user's."""
        found = set()
        with contextlib.suppress(OSError):
            for handle in (PROC / f"{self.pid}/fd").iterdir():
                with contextlib.suppress(OSError):  # closed in the meantime
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
        """Return a variable's value from when the process started; None if it was not set."""
        try:
            raw = (PROC / f"{self.pid}/environ").read_bytes()
        except OSError:
            return None
        found = [one for one in raw.split(b"\0") if one.startswith(f"{name}=".encode())]
        return found[0].decode(errors="replace").partition("=")[2] if found else None

    @property
    def shows_environment(self) -> bool:
        """Whether /proc shows its environment: shortly after exec, and never for a zombie."""
        try:
            return (PROC / f"{self.pid}/environ").read_bytes() != b""
        except OSError:
            return False

    def has_environment(self, name: str, value: str) -> bool:
        """Return whether the process was started with this variable set to this value."""
        return self.variable(name) == value


def all_processes() -> Iterator[Identity]:
    """Yield every process on the machine that /proc lists now."""
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (found := Identity.of(int(entry.name))):
            yield found


def boot_id() -> str:
    """Return the kernel's boot id; start ticks are only comparable within one boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def adopt(child: subprocess.Popen[bytes]) -> Identity:
    """Return the identity of our own child; `is_alive` reaps it later, so that no zombie stays."""
    fields = _stat(child.pid)  # a zombie keeps its entry, so this also works for a dead child
    if fields is None:
        raise ProcessLookupError(child.pid)
    found = Identity(child.pid, int(fields[19]))
    _spawned[found] = child
    return found


def _collect(one: Identity) -> None:
    if child := _spawned.get(one):
        child.poll()


def _stat(pid: int) -> list[str] | None:
    # The fields after the name, which may hold blanks, brackets and half a UTF-8 letter.
    try:
        text = (PROC / f"{pid}/stat").read_text(errors="replace")
        return text.rpartition(")")[2].split()
    except OSError:
        return None
