"""The verbs on one member of the local stack: each waits until it has taken hold and says how."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection
from typing import Any

from onceproof.errors import RequestError, StackError
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.stacks import Member, Verb
from onceproof.stacks.local.ports import refuse_taken
from onceproof.stacks.state import State

_ENDS_WITHIN_S = 60
_HEALTHY_WITHIN_S = 90
_LEFT_OVER_S = 20


def owner(member: Member) -> str:
    """Return the member whose process this is: `store` for `store:postmaster`."""
    return "store" if member.kind == "store" else member.name


def _alive(state: State, member: Member, verb: Verb) -> tuple[Identity, list[Identity]]:
    family = member.family(state.identity(owner(member)))
    if not family:
        raise RequestError(f"{member.name} is not running, so there is nothing to {verb}: start it")
    return family[0], family


def kill(state: State, member: Member, living: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """SIGKILL to every process of the member; it is stopped first, so that it forks no more."""
    main, _ = _alive(state, member, "kill")
    began = time.monotonic()
    _stand_still(main)
    family = member.family(main)
    struck = [one for one in reversed(family) if one.send(signal.SIGKILL)]
    _refuse_unstruck(member, main, struck, "killed")
    _await_end(struck, f"{member.name} lives on")
    return _proof(main, began, signal="SIGKILL", ended=[one.pid for one in struck])


def pause(state: State, member: Member, living: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """SIGSTOP to every process of the member."""
    main, family = _alive(state, member, "pause")
    if all(one.is_paused for one in family):
        raise RequestError(f"{member.name} is paused already: resume it before pausing it again")
    began = time.monotonic()
    _stand_still(main)
    for one in (family := member.family(main)):
        _stand_still(one)
    paused = [one for one in family if one.is_paused]
    _refuse_unstruck(member, main, paused, "paused")
    return _proof(main, began, signal="SIGSTOP", paused=[one.pid for one in paused])


def _stand_still(one: Identity) -> None:
    """Stop a process and wait until it stands, or has ended meanwhile."""
    one.send(signal.SIGSTOP)
    wait_for(lambda: one.is_paused or not one.is_alive, _ENDS_WITHIN_S, f"{one.pid} runs on")


def _refuse_unstruck(
    member: Member, main: Identity, struck: Collection[Identity], done: str
) -> None:
    """Raise where the member was gone before the signal: nothing struck it."""
    if main not in struck:
        raise StackError(f"{member.name} (pid {main.pid}) ended by itself before it was {done}")


def resume(state: State, member: Member, living: Collection[str]) -> dict[str, Any]:
    """SIGCONT to every process of the member; it serves again, or the proof says what it lacks."""
    main, family = _alive(state, member, "resume")
    began = time.monotonic()
    paused = [one for one in family if one.is_paused]
    for one in paused:
        one.send(signal.SIGCONT)
    wait_for(lambda: not any(one.is_paused for one in family), _ENDS_WITHIN_S, "it stays paused")
    trouble = await_health(state, member, living)
    return _proof(main, began, changed=bool(paused), trouble=trouble)


def stop(state: State, member: Member, living: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Ask the member to end in good order, and wait until all of it has."""
    main, family = _alive(state, member, "stop")
    if main.is_paused:
        raise RequestError(f"{member.name} is paused and hears no request: resume it, or kill it")
    began = time.monotonic()
    if not main.send(signal.Signals[member.stop_signal]):
        _refuse_unstruck(member, main, (), "stopped")
    _await_end(family, f"{member.name} did not end: see {state.log(owner(member))}, or kill it")
    return _proof(main, began, signal=member.stop_signal, ended=[one.pid for one in family])


def start(state: State, member: Member, living: Collection[str]) -> dict[str, Any]:
    """Start a dead member on the ports and data it had; it serves, or the proof says why."""
    began = time.monotonic()
    name = owner(member)
    before = state.identity(name)
    if before and before.is_alive:
        if before.is_paused:
            raise RequestError(f"{name} is paused, not dead: resume it")
        return _proof(before, began, changed=False, trouble=await_health(state, member, living))
    wait_for(
        lambda: not member.family(None),
        _LEFT_OVER_S,
        f"{name} cannot start: processes of its last life still serve a query; `onceproof kill "
        f"{name}` ends them",
    )
    refuse_taken(name, member.listens_on)
    member.remove_leftovers()
    main = state.start(name)
    trouble = await_health(state, member, {*living, name})
    return _proof(main, began, changed=True, trouble=trouble)


def await_health(state: State, member: Member, living: Collection[str]) -> str:
    """Wait until the member serves; where what it needs is not there, say so at once."""
    if lacks := member.needs(living):
        return f"it waits for {lacks}"
    main = state.identity(owner(member))
    said = ""

    def look() -> bool:
        nonlocal said
        if main is None or not main.is_alive:
            return True
        said = member.trouble()
        return not said

    try:
        wait_for(look, _HEALTHY_WITHIN_S, f"{member.name} does not serve", every_s=0.15)
    except StackError as error:
        raise StackError(f"{error}: {said}. See {state.log(owner(member))}") from None
    if main is None or not main.is_alive:
        raise StackError(f"{member.name} ended by itself. Its log: {log_tail(state, member)}")
    return ""


def log_tail(state: State, member: Member) -> str:
    """Return the last lines of a member's log that say anything."""
    lines = state.log(owner(member)).read_text(errors="replace").splitlines()
    return " / ".join(line.strip() for line in lines[-8:] if line.strip())[-1500:]


def _await_end(family: list[Identity], words: str) -> None:
    wait_for(lambda: not any(one.is_alive for one in family), _ENDS_WITHIN_S, words)


def _proof(main: Identity, began: float, **more: Any) -> dict[str, Any]:
    seconds = round(time.monotonic() - began, 3)
    return {"pid": main.pid, "started": main.started, **more, "seconds": seconds}


VERB_BODIES: dict[Verb, Callable[[State, Member, Collection[str]], dict[str, Any]]] = {
    "kill": kill,
    "pause": pause,
    "resume": resume,
    "stop": stop,
    "start": start,
}
