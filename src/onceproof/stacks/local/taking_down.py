"""Shutdown of a local stack; it leaves no process or file, also after crashes."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import AbstractContextManager
from pathlib import Path

from onceproof.errors import RequestError
from onceproof.machine.home import onceproof_home
from onceproof.machine.identity import boot_id
from onceproof.machine.polling import wait_for
from onceproof.setup.making import sweep
from onceproof.stacks.members import store
from onceproof.stacks.state import LOCK, STATE, State, file_lock

_PART = "stack.part"  # left by an `up` that was killed before it had written a state
_VERBS_END_S = 200


def take_down(folder: Path, mark: str = "") -> bool:
    """End this folder's stack and remove its files; return False if there was none.

    With a mark, end only the stack with that mark: a new one may have started in the same folder.
    """
    sweep(onceproof_home())
    if not (folder / STATE).exists() and not (folder / _PART).exists():
        return False
    with folder_lock(folder, wait_s=_VERBS_END_S):
        found = State.load(folder)
        is_it = found is not None and mark in ("", found.mark)
        if found is not None and is_it:
            _remove(found)
        (folder / _PART).unlink(missing_ok=True)
    return is_it


def clear(folder: Path) -> None:
    """Remove the files of a dead stack; raise `RequestError` if it is running."""
    found = State.load(folder)
    if found is None:
        return
    if found.ready and any(_is_up(found, name) for name in found.launches):
        raise RequestError(
            f"a stack is up in {folder}; run `onceproof down` to end it, or start a second one "
            "with --home FOLDER"
        )
    _remove(found)


def refuse_unusable(folder: Path) -> None:
    """Raise `RequestError` if a stack cannot use this folder because of its name or content."""
    if folder == onceproof_home():
        raise RequestError(f"{folder} is ONCEPROOF_HOME itself; choose a --home below or beside it")
    if "," in str(folder):
        raise RequestError(f"{folder} has a comma, at which Kafka splits; choose another --home")
    if ":" in folder.name:
        raise RequestError(f"{folder} has a colon, like composed stacks; choose another --home")
    if not folder.exists() or (folder / STATE).exists():
        return
    if strange := [entry.name for entry in folder.iterdir() if entry.name not in (LOCK, _PART)]:
        raise RequestError(
            f"{folder} contains files of no stack ({strange[0]}); choose an empty --home"
        )


def _is_up(state: State, name: str) -> bool:
    identity = state.identity(name)
    return identity is not None and identity.is_alive


def folder_lock(
    folder: Path, *, is_shared: bool = False, wait_s: float = 0
) -> AbstractContextManager[None]:
    """Hold the folder's lock: shared for verbs, exclusive to start or end the stack."""
    subject = f"the stack in {folder}"
    return file_lock(folder / LOCK, subject, is_shared=is_shared, wait_s=wait_s)


def _remove(state: State) -> None:
    # The state file is removed last, so that a failed removal can be repeated.
    end_processes(state)
    entries = [entry for entry in state.folder.iterdir() if entry.name not in (LOCK, STATE)]
    for entry in entries:
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    (state.folder / STATE).unlink()


def end_processes(state: State) -> None:
    """Send SIGKILL to all processes of the stack until none is left."""

    def look() -> bool:
        family = [one for one in state.processes() if one.pid != os.getpid()]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for one in family:
                one.send(number)
        return not family

    wait_for(look, 60, f"processes of the stack in {state.folder} do not end")
    if state.boot == boot_id():
        store.drop_interlock(state.place("store") / "data")
