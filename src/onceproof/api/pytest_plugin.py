"""A pytest plugin: `onceproof_run("orders.yaml", seed=3)` tests the guarantee of a job.

pytest loads it in every suite of an environment, so other modules are imported only when used.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from onceproof.api import Run

_STACK = "--onceproof-stack"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the stack."""
    help_ = (
        "the stack for onceproof_run: its folder, compose:PROJECT or external:FILE (default: the"
        " one of `onceproof up`, else one that is started for the session)"
    )
    parser.getgroup("onceproof").addoption(_STACK, metavar="STACK", default="", help=help_)


@pytest.fixture(scope="session")
def onceproof_stack(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the name of the stack that all runs of the session use."""
    from onceproof.errors import OnceproofError
    from onceproof.machine.home import onceproof_home
    from onceproof.stacks.local.stack import LocalStack, default_folder
    from onceproof.stacks.opening import find_stack

    if given := request.config.getoption(_STACK):
        yield given
    elif find_stack(str(default_folder())):
        yield str(default_folder())
    else:
        folder = onceproof_home() / f"pytest-{os.getpid()}"
        try:
            stack = LocalStack.up(folder, links=True)
        except OnceproofError as error:
            pytest.fail(f"onceproof: no stack could be started: {error}", pytrace=False)
        with stack:
            yield str(folder)
        shutil.rmtree(folder)


@pytest.fixture
def onceproof_run(request: pytest.FixtureRequest, onceproof_stack: str) -> Callable[..., Run]:
    """Return a function that runs a scenario and fails the test unless it is as claimed.

    It takes the arguments of `onceproof.run` except the stack, and returns the run. A file's name
    is relative to the folder of the test.
    """
    from onceproof import api
    from onceproof.errors import OnceproofError

    def run(scenario: Any, **options: Any) -> Run:
        if isinstance(scenario, str | Path):
            scenario = _in_folder(str(scenario), request.path.parent)
        try:
            found = api.run(scenario, stack=onceproof_stack, **options)
        except OnceproofError as error:
            pytest.fail(f"onceproof: {error}", pytrace=False)
        if not found.as_claimed:
            pytest.fail(_summary(found), pytrace=False)
        return found

    return run


def _in_folder(name: str, folder: Path) -> str:
    """Return a scenario's name; that of a file with the folder of the test."""
    from onceproof.scenario.catalogue import is_in_file

    return str(folder / name) if is_in_file(name) else name


def _summary(run: Run) -> str:
    document = run.document
    head = f"onceproof: {document['verdict']}, not as claimed: {document['scenario']}"
    reasons = (f"  - {one}" for one in run.reasons)
    ends = (f"replay: {document['replay']}", f"report: {run.directory / 'report.html'}")
    return "\n".join([head, *reasons, *ends])
