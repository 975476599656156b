"""Waiting for a condition within a time limit; no other module sleeps."""

import time
from collections.abc import Callable
from typing import TypeVar

from onceproof.errors import StackError

T = TypeVar("T")


def wait_for(
    look: Callable[[], T | None], limit_s: float, message: str, *, every_s: float = 0.05
) -> T:
    """Return the first true value of `look`, or raise `StackError(message)` after `limit_s`.

    `look` is always called once more after the limit, so that a slow machine does not fail because
    of a late call. Exceptions of `look` are not caught.
    """
    end = time.monotonic() + limit_s
    while True:
        late = time.monotonic() >= end
        if found := look():
            return found
        if late:
            raise StackError(f"{message} (waited {limit_s:g} s)")
        time.sleep(every_s)


def comes_true(look: Callable[[], object], limit_s: float, *, every_s: float = 0.05) -> bool:
    """Return whether a condition came true within the limit; for callers that can continue anyway.

    A call of `look` that raises `StackError` is repeated. If the last call raises it, the error is
    raised, since the condition is then unknown. Other exceptions are not caught.
    """
    error: StackError | None = None

    def look_again() -> object:
        nonlocal error
        try:
            found, error = look(), None
        except StackError as raised:
            found, error = None, raised
        return found

    try:
        wait_for(look_again, limit_s, "", every_s=every_s)
    except StackError:
        if error is not None:
            raise StackError(f"{error} (waited {limit_s:g} s)") from error
        return False
    return True


async def wait_in_event_loop(
    look: Callable[[], object], every_s: float, *, not_before_s: float = 0.0
) -> None:
    """Wait for a condition without blocking the event loop; the caller sets the time limit."""
    import asyncio

    await asyncio.sleep(not_before_s)
    while not await asyncio.to_thread(look):
        await asyncio.sleep(every_s)
