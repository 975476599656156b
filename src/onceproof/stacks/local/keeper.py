"""The keeper of a stack that a Python program owns: it takes the stack down if the program dies.

It is a separate process that blocks until its owner ends. If the owner takes the stack down itself,
the keeper is ended with the members.
"""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

from onceproof.machine.identity import Identity
from onceproof.machine.spawning import spawn
from onceproof.stacks.state import MARK, State


def keep(state: State) -> None:
    """Start a keeper for a stack that this process owns."""
    owner = Identity.of(os.getpid())
    if owner is None:
        raise ProcessLookupError(os.getpid())
    command = [sys.executable, "-m", __name__, state.folder, state.mark, owner.pid, owner.started]
    spawn(
        [str(word) for word in command],
        log=state.log("keeper"),
        env=dict(os.environ) | {MARK: state.mark},
        cwd=state.folder,
    )


def main(folder: Path, mark: str, owner: Identity) -> None:
    """Wait until the owner has ended, then take its stack down."""
    from onceproof.stacks.local.taking_down import take_down

    try:
        handle = os.pidfd_open(owner.pid)
    except ProcessLookupError:
        handle = None
    if handle is not None and owner.is_alive:
        select.select([handle], [], [])
    take_down(folder, mark)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Identity(int(sys.argv[3]), int(sys.argv[4])))
