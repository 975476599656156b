"""The commands on a stack: up, down, status, logs, setup, and the verbs on a member."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from onceproof.cli.output import AsJson, Runs, print_columns, print_document
from onceproof.errors import RequestError, unknown
from onceproof.machine.home import onceproof_home, runs_folder
from onceproof.stacks import VERBS, MemberStatus, Stack, Verb
from onceproof.stacks.compose import service
from onceproof.stacks.local.stack import LocalStack, default_folder
from onceproof.stacks.local.taking_down import take_down
from onceproof.stacks.members.programs import kafka_tools, spark_tools, store_tools
from onceproof.stacks.opening import is_composed, is_external, open_stack

Home = Annotated[
    Path | None,
    typer.Option(
        "--home", help="The stack: its folder (default: below ONCEPROOF_HOME), or else its name."
    ),
]
_HELP: dict[Verb, str] = {
    "kill": "Kill a member (SIGKILL); `store:postmaster` spares PostgreSQL's backends.",
    "pause": "Suspend a member, so that it does not respond.",
    "resume": "Resume a paused member.",
    "stop": "Shut a member down gracefully.",
    "start": "Start a member that is down, with its ports and data.",
}


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(setup)
    app.command()(up)
    app.command()(down)
    app.command()(status)
    app.command()(logs)
    for verb in VERBS:
        app.command(verb, help=_HELP[verb])(_command(verb))


def setup() -> None:
    """Fetch the jars and prepare the files that every stack needs; it may be repeated."""
    home = onceproof_home()
    kafka_tools(home)
    spark_tools(home)
    store_tools(home)
    typer.echo(f"The files that a stack needs are in {home}.", err=True)


def up(
    brokers: Annotated[int, typer.Option(help="Kafka brokers: 1, 3 or 5.")] = 3,
    workers: Annotated[int, typer.Option(help="Spark workers, two cores each.")] = 2,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave out kafka, spark or store; may be repeated.")
    ] = None,
    links: Annotated[
        bool,
        typer.Option(
            "--links", help="Put a proxy before every broker and the store, for cut, delay ..."
        ),
    ] = False,
    airflow: Annotated[
        bool, typer.Option("--airflow", help="Start Airflow too, with the DAGs and the page.")
    ] = False,
    runs: Runs = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Start a stack: brokers, a Spark cluster and PostgreSQL, as processes on loopback."""
    began = time.monotonic()
    stack = LocalStack.up(
        home,
        brokers=brokers,
        workers=workers,
        without=without or (),
        links=links,
        airflow_runs=runs_folder(runs) if airflow else None,
    )
    _print_members(stack, began, as_json=as_json)


def down(home: Home = None) -> None:
    """End every process of the stack and remove its files, even after crashes."""
    if is_composed(str(home)) or is_external(str(home)):
        open_named(home).down()
    folder = (home or default_folder()).resolve()
    typer.echo("down" if take_down(folder) else f"no stack was running in {folder}", err=True)


def status(home: Home = None, as_json: AsJson = False) -> None:
    """Check every member now; exit 1 if one is not healthy."""
    began = time.monotonic()
    found = _print_members(open_named(home), began, as_json=as_json)
    if not all(member.healthy for member in found):
        raise typer.Exit(1)


def open_named(home: Path | None) -> Stack:
    """Return the stack of this name or folder, by default the one in the default folder."""
    return open_stack(str(home or default_folder()))


def _print_members(stack: Stack, began: float, *, as_json: bool) -> Iterable[MemberStatus]:
    found = stack.status()
    seconds = time.monotonic() - began
    if as_json:
        members = [asdict(member) for member in found]
        print_document({"home": stack.name, "seconds": round(seconds, 2), "members": members})
    else:
        print_columns(["member", "pid", "MB", "address", "health"], map(_row, found))
    return found


def _row(member: MemberStatus) -> list[str]:
    memory = str(member.pss_bytes >> 20) if member.pss_bytes else ""
    health = "healthy" if member.healthy else member.trouble.removeprefix("is ")
    return [member.name, str(member.pid or ""), memory, member.address, health]


def logs(
    member: Annotated[str, typer.Argument(help="A member's name, as `status` shows it.")],
    lines: Annotated[int, typer.Option(min=1, help="The number of lines.")] = 50,
    home: Home = None,
) -> None:
    """Print the end of a member's log."""
    stack = open_named(home)
    if member not in stack.members:
        raise RequestError(unknown("member", member, stack.members))
    if is_external(stack.name):
        raise RequestError(f"{stack.name} has no logs here; ask its owner")
    if not isinstance(stack, LocalStack):
        raise RequestError(
            f"{stack.name} has no logs here; run `docker compose logs {service(member)}`"
        )
    if not stack.state.log(member).exists():
        raise RequestError(f"{member} was never started, so it has no log; run `onceproof status`")
    text = stack.state.log(member).read_text(errors="replace")
    typer.echo("\n".join(text.splitlines()[-lines:]))


def _command(verb: Verb) -> Callable[..., None]:
    def command(
        member: Annotated[str, typer.Argument(help="broker:1, broker:controller, worker:any ...")],
        home: Home = None,
        as_json: AsJson = False,
    ) -> None:
        done = open_named(home).apply(verb, member, Random())
        if as_json:
            print_document({"verb": done.verb, "member": done.member, "proof": done.proof})
        else:
            typer.echo(f"{done.verb} {done.member}: {_sentence(done.proof)}")

    return command


def _sentence(proof: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in proof.items() if value != "")
