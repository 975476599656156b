"""`onceproof nightly`: start Airflow, run a night in it, and print its verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from onceproof.airflow.client import OVER, Airflow
from onceproof.airflow.night import scenarios_of
from onceproof.cli.output import AsJson, Runs, print_columns, print_document
from onceproof.cli.run import Open
from onceproof.errors import RequestError
from onceproof.machine.home import onceproof_home, runs_folder
from onceproof.machine.polling import wait_for
from onceproof.stacks.local.stack import LocalStack
from onceproof.stacks.members.airflow import USER, password_of
from onceproof.stacks.state import State

NIGHT = "onceproof_nightly"
_LONGEST_S = 24 * 3600.0


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(nightly)


def nightly(
    tag: Annotated[
        list[str] | None, typer.Option(help="Scenarios with this tag; may be repeated.")
    ] = None,
    scenario: Annotated[
        list[str] | None, typer.Option(help="A scenario by name or by file; may be repeated.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="The number of seeds of each scenario.")] = 1,
    first_seed: Annotated[
        int | None, typer.Option(min=0, help="The first seed (default: from the date).")
    ] = None,
    stay: Annotated[
        bool, typer.Option("--stay", help="Leave the stack and Airflow running.")
    ] = False,
    is_open: Open = False,
    runs: Runs = None,
    home: Annotated[
        Path | None, typer.Option("--home", help="The folder of the stack and of Airflow.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start a stack with Airflow, run a night in it, and show its verdicts and its page.

    Exit 0 if every run is as claimed, 1 if one is not, 2 if one is unknown or has no verdict.
    """
    asked: dict[str, Any] = {"seeds": seeds, "first_seed": first_seed, "open": is_open}
    asked |= {"scenarios": _absolute(scenario or [])}
    if tag or scenario:
        asked["tags"] = tag or []
        scenarios_of(asked["tags"], asked["scenarios"])  # raises before anything starts
    with _stack(home or onceproof_home() / "nightly", runs, stay=stay) as stack:
        found = _live(stack, asked, stay=stay, as_json=as_json)
    raise typer.Exit(_code(found))


def _live(
    stack: LocalStack, asked: dict[str, Any], *, stay: bool, as_json: bool
) -> list[dict[str, Any]]:
    airflow = Airflow.of(stack)
    night = airflow.trigger(NIGHT, asked)
    _wait(airflow, night)
    found: list[dict[str, Any]] = airflow.xcom(NIGHT, night, "summary", "verdict")
    page = f"{airflow.address}/onceproof/nights"
    if as_json:
        print_document({"night": night, "page": page, "runs": found})
        return found
    print_columns(["verdict", "claims", "as claimed", "scenario", "seed", "run"], map(_row, found))
    if stay:
        typer.echo(f"The page: {page} (user {USER}, password {password_of(stack.state)})")
        typer.echo(f"To stop it: onceproof down --home {stack.state.folder}")
    else:
        typer.echo("With --stay, Airflow and its page stay up.")
    return found


def _absolute(scenarios: list[str]) -> list[str]:
    """Return scenarios with absolute paths, as Airflow has another working directory."""
    return [str(Path(one).absolute()) if "/" in one else one for one in scenarios]


@contextmanager
def _stack(folder: Path, runs: Path | None, *, stay: bool) -> Iterator[LocalStack]:
    """Yield the running stack of the folder, or start one with Airflow."""
    found = State.load(folder.resolve())
    if (
        found is not None
        and found.ready
        and any(one.healthy for one in LocalStack(folder).status())
    ):
        if runs is not None:
            raise RequestError(
                f"a stack in {folder} is running and has its own folder of runs; leave out --runs,"
                f" or run `onceproof down --home {folder}` first"
            )
        yield LocalStack(folder)
        return
    typer.echo(f"starting a stack with Airflow in {folder}", err=True)
    stack = LocalStack.up(folder, airflow_runs=runs_folder(runs))
    if stay:
        yield stack
        return
    with stack:
        yield stack


def _wait(airflow: Airflow, night: str) -> None:
    printed: set[str] = set()

    def is_over() -> bool:
        for name, task in airflow.tasks(NIGHT, night).items():
            if (
                name.startswith("run[")
                and task["state"] in (*OVER, "skipped")
                and name not in printed
            ):
                printed.add(name)
                typer.echo(f"{task['state']:8} {task['rendered_map_index'] or name}", err=True)
        return airflow.state(NIGHT, night) in OVER

    typer.echo(f"night {night}", err=True)
    wait_for(is_over, _LONGEST_S, "the night did not end", every_s=1)


def _row(run: dict[str, Any]) -> list[str]:
    named = [str(run.get(name, "")) for name in ("scenario", "seed")]
    as_claimed = "yes" if run["as_claimed"] else "NO"
    return [run["verdict"], str(run.get("claims", "")), as_claimed, *named, run["run"]]


def _code(found: list[dict[str, Any]]) -> int:
    red = {run["verdict"] for run in found if not run["as_claimed"]}
    if not red:
        return 0 if found else 2
    return 1 if red & {"PASS", "FAIL"} else 2
