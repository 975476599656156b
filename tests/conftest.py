"""What tests share: one warm stack, whole again before each test that uses it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from onceproof.home import onceproof_home
from onceproof.polling import wait_for
from onceproof.stacks.link_verbs import heal
from onceproof.stacks.local import LocalStack


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
    with LocalStack.up(stacks_folder / "warm", links=True) as stack:
        yield stack


@pytest.fixture
def stack(warm_stack: LocalStack, rng: Random) -> LocalStack:
    """The warm stack, every member of it healed of what the test before did."""
    heal(warm_stack)
    for member in warm_stack.status():
        if not member.healthy and member.pid:
            warm_stack.apply("resume", member.name, rng)
        elif not member.healthy:
            warm_stack.apply("start", member.name, rng)
    wait_for(lambda: is_whole(warm_stack), 90, "the stack does not become whole")
    return warm_stack


def is_whole(stack: LocalStack) -> bool:
    return all(member.healthy for member in stack.status())
