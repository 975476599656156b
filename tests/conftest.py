"""What tests share: one warm stack, whole again before each test that uses it."""

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
    """Spark's alone come before the stack's, which leave clients that hear of its end."""
    items.sort(key=lambda item: any(item.iter_markers("stack")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("ui"):
        skip_without_browser()


@pytest.fixture
def rng() -> Random:
    return Random(7)


@pytest.fixture(scope="session")
def stacks_folder() -> Iterator[Path]:
    """A folder that PostgreSQL's user can enter, which pytest's own is not for root."""
    folder = onceproof_home() / f"test-{os.getpid()}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def warm_stack(stacks_folder: Path) -> Iterator[LocalStack]:
    with LocalStack.up(stacks_folder / "warm") as stack:
        yield stack


@pytest.fixture(scope="module")
def warm_linked_stack(stacks_folder: Path) -> Iterator[LocalStack]:
    with LocalStack.up(stacks_folder / "linked", links=True) as stack:
        yield stack


@pytest.fixture
def stack(warm_stack: LocalStack, rng: Random) -> LocalStack:
    """The warm stack, every member of it healed of what the test before did.

    To look at all members takes a third of a second, and nearly all tests leave them alone.
    """
    if whole_at.get(warm_stack.name) != traces(warm_stack):
        healed(warm_stack, rng)
        whole_at[warm_stack.name] = traces(warm_stack)
    return warm_stack


@pytest.fixture
def linked_stack(warm_linked_stack: LocalStack, rng: Random) -> LocalStack:
    """The same with links, for the tests of one file."""
    heal(warm_linked_stack)
    return healed(warm_linked_stack, rng)


whole_at: dict[str, list[object]] = {}


def traces(stack: LocalStack) -> list[object]:
    """Return what every verb changes, in whatever process, and every death and pause."""
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
    wait_for(lambda: is_whole(stack), 90, "the stack does not become whole")
    return stack


@pytest.fixture(autouse=True)
def clients_end_with_their_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what a sink keeps open for as long as its driver lives, which here is one test.

    A client that nobody closes asks for its brokers for ever, and leaves the socket of each refusal
    to the collector, which comes seldom to a process as large as this: with a thousand of them, the
    callbacks of Spark are never heard again.
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


def is_whole(stack: LocalStack) -> bool:
    return all(member.healthy for member in stack.status())
