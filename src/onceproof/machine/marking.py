"""A mark that every descendant of a process inherits, and that no process loses by accident.

It is the soft limit of the resident set (`ulimit -S -m`): Linux has not enforced it since 2.4.30, a
child inherits it, and /proc shows it of every process to everybody. A process keeps it with another
parent, session, user, title, environment or working directory.
"""

from __future__ import annotations

from collections.abc import Sequence

from onceproof.machine.identity import Identity

_LEAST_KB = 1 << 50  # above any real memory limit, so that no real limit looks like a mark
_SET = 'ulimit -S -m "$0" && exec "$@"'


def marked(command: Sequence[str], mark: str) -> list[str]:
    """Return a command that sets the limit of this mark, and becomes the given command."""
    return ["/bin/sh", "-c", _SET, str(_kilobytes(mark)), *command]


def is_marked(one: Identity, mark: str) -> bool:
    """Whether a process or one of its ancestors was started with this mark."""
    return one.rss_limit == _kilobytes(mark) << 10


def _kilobytes(mark: str) -> int:
    """Return the limit that stands for a hexadecimal mark, in the unit of `ulimit`."""
    return _LEAST_KB + int(mark, 16) % _LEAST_KB
