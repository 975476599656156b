"""The verbs on one member of the local stack; each waits for its effect and returns the proof."""

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
    """Return the name of the member that has the process: `store` for `store:postmaster`."""
    return "store" if member.kind == "store" else member.name


def _alive(state: State, member: Member, verb: Verb) -> tuple[Identity, list[Identity]]:
    family = member.family(state.identity(owner(member)))
    if not family:
        raise RequestError(f"cannot {verb} {member.name}: it is not running; start it")
    return family[0], family


def kill(state: State, member: Member, running: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Send SIGKILL to every process of the member; SIGSTOP first, so that it cannot fork."""
    main, _ = _alive(state, member, "kill")
    began = time.monotonic()
    _stop(main)
    family = member.family(main)
    struck = [one for one in reversed(family) if one.send(signal.SIGKILL)]
    _refuse_unstruck(member, main, struck, "killed")
    _await_end(struck, f"{member.name} is still running")
    return _proof(main, began, signal="SIGKILL", ended=[one.pid for one in struck])


def pause(state: State, member: Member, running: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Send SIGSTOP to every process of the member."""
    main, family = _alive(state, member, "pause")
    if all(one.is_paused for one in family):
        raise RequestError(f"{member.name} is already paused; resume it first")
    began = time.monotonic()
    _stop(main)
    for one in (family := member.family(main)):
        _stop(one)
    paused = [one for one in family if one.is_paused]
    _refuse_unstruck(member, main, paused, "paused")
    return _proof(main, began, signal="SIGSTOP", paused=[one.pid for one in paused])


def _stop(one: Identity) -> None:
    one.send(signal.SIGSTOP)
    message = f"process {one.pid} did not stop"
    wait_for(lambda: one.is_paused or not one.is_alive, _ENDS_WITHIN_S, message)


def _refuse_unstruck(
    member: Member, main: Identity, struck: Collection[Identity], done: str
) -> None:
    if main not in struck:
        raise StackError(f"{member.name} (pid {main.pid}) exited by itself before it was {done}")


def resume(state: State, member: Member, running: Collection[str]) -> dict[str, Any]:
    """Send SIGCONT to every process of the member.

    Waits until the member is healthy, or records in the proof why it cannot be.
    """
    main, family = _alive(state, member, "resume")
    began = time.monotonic()
    paused = [one for one in family if one.is_paused]
    for one in paused:
        one.send(signal.SIGCONT)
    message = f"{member.name} is still paused"
    wait_for(lambda: not any(one.is_paused for one in family), _ENDS_WITHIN_S, message)
    trouble = await_health(state, member, running)
    return _proof(main, began, changed=bool(paused), trouble=trouble)


def stop(state: State, member: Member, running: Collection[str]) -> dict[str, Any]:  # noqa: ARG001
    """Request an orderly shutdown, and wait until all processes of the member have ended."""
    main, family = _alive(state, member, "stop")
    if main.is_paused:
        raise RequestError(f"cannot stop {member.name}: it is paused; resume or kill it")
    began = time.monotonic()
    if not main.send(signal.Signals[member.stop_signal]):
        _refuse_unstruck(member, main, (), "stopped")
    _await_end(family, f"{member.name} did not stop; see {state.log(owner(member))}, or kill it")
    return _proof(main, began, signal=member.stop_signal, ended=[one.pid for one in family])


def start(state: State, member: Member, running: Collection[str]) -> dict[str, Any]:
    """Start a dead member with its previous ports and data.

    Waits until it is healthy, or records in the proof why it cannot be. A running member is left
    alone.
    """
    began = time.monotonic()
    name = owner(member)
    before = state.identity(name)
    if before and before.is_alive:
        if before.is_paused:
            raise RequestError(f"cannot start {name}: it is paused; resume it")
        return _proof(before, began, changed=False, trouble=await_health(state, member, running))
    wait_for(
        lambda: not member.family(None),
        _LEFT_OVER_S,
        f"cannot start {name}: old processes of it still serve a query; run `onceproof kill {name}`"
        " to end them",
    )
    refuse_taken(name, member.listens_on)
    member.remove_leftovers()
    main = state.start(name)
    trouble = await_health(state, member, {*running, name})
    return _proof(main, began, changed=True, trouble=trouble)


def await_health(state: State, member: Member, running: Collection[str]) -> str:
    """Wait until the member is healthy; if a member that it needs is missing, return which one."""
    if lacks := member.needs(running):
        return f"waits for {lacks}"
    main = state.identity(owner(member))
    trouble = ""

    def look() -> bool:
        nonlocal trouble
        if main is None or not main.is_alive:
            return True
        trouble = member.trouble()
        return not trouble

    try:
        wait_for(look, _HEALTHY_WITHIN_S, f"{member.name} is not healthy", every_s=0.15)
    except StackError as error:
        log = state.log(owner(member))
        raise StackError(f"{error}: it {trouble}; see {log}") from None
    if main is None or not main.is_alive:
        raise StackError(f"{member.name} exited by itself; its log: {log_tail(state, member)}")
    return ""


def log_tail(state: State, member: Member) -> str:
    """Return the last non-empty lines of a member's log."""
    lines = state.log(owner(member)).read_text(errors="replace").splitlines()
    return " / ".join(line.strip() for line in lines[-8:] if line.strip())[-1500:]


def _await_end(family: list[Identity], message: str) -> None:
    wait_for(lambda: not any(one.is_alive for one in family), _ENDS_WITHIN_S, message)


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
