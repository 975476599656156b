"""The entry point of the composed stack's containers.

`python -m onceproof.stacks.compose.entry` creates the files of the member named in
`ONCEPROOF_MEMBER` and becomes its program. With `check` it prints why that member is not healthy,
and fails unless it is.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable

from onceproof.errors import OnceproofError, RequestError, unknown
from onceproof.machine.home import onceproof_home
from onceproof.stacks.compose import RUNS, composed_state
from onceproof.stacks.local.bringing_up import await_first
from onceproof.stacks.members import airflow, brokers, cluster, store
from onceproof.stacks.members.airflow import PARTS
from onceproof.stacks.members.programs import kafka_tools, spark_tools, store_tools
from onceproof.stacks.members.registry import members
from onceproof.stacks.state import Launch, State

NAME = "ONCEPROOF_MEMBER"


def main(words: list[str]) -> int:
    """Become this container's member, or check it."""
    state, name = composed_state(), os.environ.get(NAME, "")
    found = members(state)
    if name not in found:
        raise RequestError(unknown(NAME, name, found))
    if words == ["check"]:
        trouble = found[name].trouble()
        sys.stdout.write(trouble)
        return bool(trouble)
    await_first(state, found[name], lambda: False)
    kind, _, which = name.partition(":")
    launch = _LAUNCHES[kind](state, which)
    found[name].remove_leftovers()
    become(launch)
    return 1


def become(launch: Launch) -> None:
    """Replace this process by the member's program, with the member's user."""
    os.chdir(launch.cwd)
    if launch.run_as:
        os.setgroups(launch.run_as["extra_groups"])
        os.setgid(launch.run_as["group"])
        os.setuid(launch.run_as["user"])
    os.execvpe(launch.argv[0], launch.argv, launch.env)  # noqa: S606  a list, without a shell


def _airflow(state: State, part: str) -> Launch:
    if part == PARTS[0]:  # the others wait for it
        _make_airflow_home(state)
    return airflow.launch_part(state, part, RUNS, os.environ.get(airflow.STACK, ""))


def _make_airflow_home(state: State) -> None:
    # airflow.cfg is written last, so a home without it is incomplete.
    place = state.place("airflow")
    if not (place / "airflow.cfg").exists():
        shutil.rmtree(place, ignore_errors=True)
        airflow.make_home(state)


_LAUNCHES: dict[str, Callable[[State, str], Launch]] = {
    "broker": lambda state, number: brokers.launch(
        state, int(number), kafka_tools(onceproof_home())
    ),
    "master": lambda state, _: cluster.launch_master(state, spark_tools(onceproof_home())),
    "worker": lambda state, number: cluster.launch_worker(
        state, int(number), spark_tools(onceproof_home())
    ),
    "store": lambda state, _: store.launch(state, store_tools(onceproof_home())),
    "airflow": _airflow,
}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OnceproofError as error:
        sys.exit(f"onceproof: {error}")
