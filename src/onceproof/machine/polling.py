"""The one place that waits: for a condition, within a limit, with the words to fail with."""

import time
from collections.abc import Callable
from typing import TypeVar

from onceproof.errors import StackError

T = TypeVar("T")


def wait_for(
    look: Callable[[], T | None], limit_s: float, words: str, *, every_s: float = 0.05
) -> T:
    """Return the first true value of `look`, or raise `StackError` with `words` after `limit_s`.

    `look` is always called once more after the limit, so a slow machine is not failed for a look
    that came late. What `look` raises is not caught.
    """
    end = time.monotonic() + limit_s
    while True:
        late = time.monotonic() >= end
        if found := look():
            return found
        if late:
            raise StackError(f"{words} (waited {limit_s:g} s)")
        time.sleep(every_s)


def comes_true(look: Callable[[], object], limit_s: float, *, every_s: float = 0.05) -> bool:
    """Return whether a condition came true within the limit, for those who can go on without.

    A look that raises `StackError` is repeated. If the last one does, its error is raised: then
    nobody knows whether the condition holds. Everything else that `look` raises is not caught.
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
    """Wait until a condition holds without holding up an event loop; its caller sets the limit."""
    import asyncio

    await asyncio.sleep(not_before_s)
    while not await asyncio.to_thread(look):
        await asyncio.sleep(every_s)
