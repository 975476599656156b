"""How a local stack ends, and what it leaves: nothing, whatever died before."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import AbstractContextManager
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.identity import boot_id
from onceproof.polling import wait_for
from onceproof.stacks import store
from onceproof.stacks.state import STATE, State, held

# What an `up` may leave that was killed before it had a state.
_OURS = ("lock", "stack.part")
_VERBS_END_S = 30


def take_down(folder: Path) -> bool:
    """End the stack of this folder and remove its files; False if there was none."""
    if not folder.exists():
        return False
    with held_folder(folder, wait_s=_VERBS_END_S):
        found = State.load(folder)
        if found is not None:
            _remove(found)
        (folder / "stack.part").unlink(missing_ok=True)
    return found is not None


def clear(folder: Path) -> None:
    """Remove what a dead stack left here; refuse a living one, and files that are not ours."""
    found = State.load(folder)
    if found is None:
        if strange := [entry.name for entry in folder.iterdir() if entry.name not in _OURS]:
            raise RequestError(
                f"{folder} holds files that are no stack's ({strange[0]}): choose an empty --home"
            )
        return
    if found.ready and any(_is_up(found, name) for name in found.launches):
        raise RequestError(
            f"a stack is up in {folder}: `onceproof status` shows it, `onceproof down` ends it, "
            "and --home FOLDER starts a second one beside it"
        )
    _remove(found)


def _is_up(state: State, name: str) -> bool:
    identity = state.identity(name)
    return identity is not None and identity.is_alive


def held_folder(
    folder: Path, *, is_shared: bool = False, wait_s: float = 0
) -> AbstractContextManager[None]:
    """Hold the folder's lock: verbs do it together, what starts or ends the stack alone."""
    whose = f"the stack in {folder}"
    return held(folder / "lock", whose, is_shared=is_shared, wait_s=wait_s)


def _remove(state: State) -> None:
    """Remove the files when the processes are gone; the state last, so that it can be repeated."""
    end_processes(state)
    entries = [entry for entry in state.folder.iterdir() if entry.name not in ("lock", STATE)]
    for entry in entries:
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    (state.folder / STATE).unlink()


def end_processes(state: State) -> None:
    """SIGKILL to all that is ours, until nothing is left that could start anew."""

    def look() -> bool:
        family = [one for one in state.processes() if one.pid != os.getpid()]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for one in family:
                one.send(number)
        return not family

    wait_for(look, 60, f"processes of the stack in {state.folder} do not die")
    if state.boot == boot_id():
        store.drop_interlock(state.place("store") / "data")
