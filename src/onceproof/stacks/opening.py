"""Opening of a stack by name: a local stack's folder, `compose:PROJECT`, or `external:FILE`."""

from __future__ import annotations

from pathlib import Path

from onceproof.stacks import Stack
from onceproof.stacks.compose.stack import PREFIX, ComposeStack
from onceproof.stacks.external import stack as external
from onceproof.stacks.external.stack import ExternalStack
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.state import State


def is_composed(name: str) -> bool:
    """Return whether a name is that of a composed stack."""
    return name.startswith(PREFIX)


def is_external(name: str) -> bool:
    """Return whether a name is that of an external stack."""
    return name.startswith(external.PREFIX)


def open_stack(name: str) -> Stack:
    """Return the stack with this name; raise `RequestError` for an unknown name."""
    if is_composed(name):
        return ComposeStack(name.removeprefix(PREFIX))
    if is_external(name):
        return ExternalStack(Path(name.removeprefix(external.PREFIX)))
    return LocalStack(Path(name))


def find_stack(name: str) -> Stack | None:
    """Return the stack with this name; None if it does not exist or its start never completed."""
    if not is_composed(name) and not is_external(name):
        found = State.load(Path(name).resolve())
        if found is None or not found.ready:
            return None
    return open_stack(name)
