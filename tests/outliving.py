"""A search for processes that outlive the tests: `python -m tests.outliving` lists them and fails.

This process has a unique hard limit of the resident set (`ulimit -m`, which Linux does not
enforce). Every process started under it inherits it, with any parent, title, environment, session
and working directory. The machine's own processes do not have it. This process and its ancestors
are left out.
"""

import os
import re
import resource
import sys
from pathlib import Path
from random import SystemRandom

from onceproof.machine.identity import PROC, Identity, all_processes
from onceproof.machine.polling import comes_true

_LEAST, _MOST = 1 << 61, 1 << 62  # in bytes; a stack's own marks are soft limits below it
_ENDS_WITHIN_S = 30.0


def begin() -> None:
    """Set a limit by which all processes that this one starts from now on can be found."""
    now = resource.getrlimit(resource.RLIMIT_RSS)[1]
    most = _MOST if now == resource.RLIM_INFINITY else now
    limit = SystemRandom().randrange(_LEAST, most)
    resource.setrlimit(resource.RLIMIT_RSS, (limit, limit))


def outliving() -> list[Identity]:
    """Return the living processes that were started since the limit was set."""
    limit = resource.getrlimit(resource.RLIMIT_RSS)[1]
    if limit < _LEAST:
        raise ValueError(f"invalid hard limit {limit} of the resident set; set one as .ci/run does")
    me = Identity.of(os.getpid())
    spared = {me, *me.ancestors()}
    return [one for one in all_processes() if one not in spared and hard_limit(one) == limit]


def hard_limit(one: Identity) -> int | None:
    """Return a process's hard limit of the resident set; None if unlimited or gone."""
    try:
        text = (PROC / f"{one.pid}/limits").read_text()
    except OSError:
        return None
    found = re.search(r"^Max resident set +\S+ +(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else None


def describe(one: Identity) -> str:
    """Return a process's ids, folder and command as text, to find what started it."""
    try:
        folder = (PROC / f"{one.pid}/cwd").readlink()
    except OSError as error:
        folder = Path(f"({error.strerror})")
    command = " ".join(one.arguments())[:300]
    return f"pid {one.pid}, start time {one.started}, session {one.session}, in {folder}: {command}"


if __name__ == "__main__":
    comes_true(lambda: not outliving(), _ENDS_WITHIN_S, every_s=0.5)
    if left := outliving():
        sys.exit("\n".join(["Processes that outlive their tests:", *map(describe, left)]))
