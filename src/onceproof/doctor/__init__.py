"""Checks of everything that a run of a scenario needs; nothing is started.

`onceproof doctor SCENARIO` prints them. A failed check has a remedy. A check that depends on a
failed one is left out.
"""

from __future__ import annotations

from pathlib import Path

from onceproof.doctor.job import check_job, check_libraries, check_suites, check_variables
from onceproof.doctor.stack import check_stack
from onceproof.errors import OnceproofError, RequestError
from onceproof.scenario.catalogue import find_scenario
from onceproof.setup.checks import Check
from onceproof.stacks import Stack
from onceproof.stacks.local.stack import default_folder
from onceproof.stacks.opening import find_stack, open_stack


def check_scenario(asked: str, home: Path | None) -> list[Check]:
    """Check everything that a run of a scenario needs, on the stack that it would use."""
    try:
        scenario = find_scenario(asked)
    except RequestError as error:
        return [Check("scenario", False, f"cannot run {asked}", str(error))]
    found = [
        Check("scenario", True, f"{scenario.name} of {scenario.file}, with reference and sink"),
        check_libraries(scenario),
        *check_variables(scenario),
        *check_job(scenario),
        *check_suites(scenario),
    ]
    try:
        stack = _stack(home)
    except OnceproofError as error:
        return [*found, Check("stack", False, "cannot be opened", str(error))]
    if stack is None:
        value = "none is running; a run starts its own and takes it down"
        return [*found, Check("stack", True, value)]
    return [*found, *check_stack(stack, scenario)]


def _stack(home: Path | None) -> Stack | None:
    return open_stack(str(home)) if home else find_stack(str(default_folder()))
