"""A stack by its name: the folder of a local one, `compose:PROJECT`, or `external:FILE`."""

from __future__ import annotations

from pathlib import Path

from onceproof.stacks import Stack
from onceproof.stacks.compose.stack import PREFIX, ComposeStack
from onceproof.stacks.external import stack as external
from onceproof.stacks.external.stack import ExternalStack
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.state import State


def is_composed(name: str) -> bool:
    """Whether a name is a composed stack's."""
    return name.startswith(PREFIX)


def is_external(name: str) -> bool:
    """Whether a name is an external stack's."""
    return name.startswith(external.PREFIX)


def open_stack(name: str) -> Stack:
    """Return the stack of this name, or raise `RequestError` if there is none."""
    if is_composed(name):
        return ComposeStack(name.removeprefix(PREFIX))
    if is_external(name):
        return ExternalStack(Path(name.removeprefix(external.PREFIX)))
    return LocalStack(Path(name))


def find_stack(name: str) -> Stack | None:
    """Return the stack of this name if it stands; what never came up does not."""
    if not is_composed(name) and not is_external(name):
        found = State.load(Path(name).resolve())
        if found is None or not found.ready:
            return None
    return open_stack(name)
