"""Shared fixtures: one warm stack, healthy again before each test that uses it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.sinks.topics import coordinator
from onceproof.sinks.topics.cluster import Cluster
from onceproof.stacks.links.verbs import heal
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.state import LOCK
from tests.browser import browser, page, skip_without_browser  # noqa: F401  its fixtures


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests of Spark alone before those of the stack, which leave clients behind.

    Of each the longest are first, which are those of `system`: two processes run the files in this
    order, and the one that is done waits for the other.
    """
    items.sort(key=lambda item: (has(item, "stack"), not has(item, "system")))


def has(item: pytest.Item, marker: str) -> bool:
    return item.get_closest_marker(marker) is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("ui"):
        skip_without_browser()


@pytest.fixture
def rng() -> Random:
    return Random(7)


@pytest.fixture(scope="session")
def stacks_folder() -> Iterator[Path]:
    """A folder that PostgreSQL's user can enter; as root it cannot enter pytest's own."""
    folder = onceproof_home() / f"test-{os.getpid()}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def warm_stack(stacks_folder: Path) -> Iterator[LocalStack]:
    with LocalStack.up(stacks_folder / "warm") as stack:
        yield stack


@pytest.fixture(scope="session")
def warm_linked_stack(stacks_folder: Path) -> Iterator[LocalStack]:
    with LocalStack.up(stacks_folder / "linked", links=True) as stack:
        yield stack


@pytest.fixture
def stack(warm_stack: LocalStack, rng: Random) -> LocalStack:
    """The warm stack, with all members healed after the previous test.

    A check of all members takes a third of a second, and few tests change them. So it is skipped if
    nothing has changed since the last one.
    """
    if checked_at.get(warm_stack.name) != traces(warm_stack):
        healed(warm_stack, rng)
        checked_at[warm_stack.name] = traces(warm_stack)
    return warm_stack


@pytest.fixture
def linked_stack(warm_linked_stack: LocalStack, rng: Random) -> LocalStack:
    """A warm stack with links, which a process starts if it runs a file that needs one."""
    heal(warm_linked_stack)
    return healed(warm_linked_stack, rng)


checked_at: dict[str, list[object]] = {}


def traces(stack: LocalStack) -> list[object]:
    """Return values that change with every verb, also in other processes, and with every death."""
    lives = [stack.state.identity(name) for name in stack.members]
    signs = [(one, one.is_alive, one.is_paused) for one in lives if one]
    return [(stack.state.folder / LOCK).stat().st_mtime_ns, *signs]


def healed(stack: LocalStack, rng: Random) -> LocalStack:
    found = stack.status()
    if all(member.healthy for member in found):
        return stack
    for member in found:
        if not member.healthy and member.pid:
            stack.apply("resume", member.name, rng)
        elif not member.healthy:
            stack.apply("start", member.name, rng)
    wait_for(lambda: is_healthy(stack), 90, "the stack is not healthy")
    return stack


@pytest.fixture(autouse=True)
def clients_end_with_their_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close clients that a sink keeps open during its driver's life, which here is one test.

    An open client tries to reach its brokers forever, and leaves the socket of each refused
    connection to the garbage collector, which runs rarely in such a large process. With a thousand
    of them, callbacks of Spark are no longer received.
    """
    made: list[Any] = []
    for name in ("consumer", "producer"):
        monkeypatch.setattr(Cluster, name, _kept(getattr(Cluster, name), made))
    monkeypatch.setattr(coordinator, "admin", _kept(coordinator.admin, made))
    yield
    for client in made:
        client.close(**({"timeout": 1} if hasattr(client, "flush") else {}))


def _kept(make: Callable[..., Any], made: list[Any]) -> Callable[..., Any]:
    def kept(*words: Any, **more: Any) -> Any:
        made.append(make(*words, **more))
        return made[-1]

    return kept


def is_healthy(stack: LocalStack) -> bool:
    return all(member.healthy for member in stack.status())
