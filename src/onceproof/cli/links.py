"""The commands on the links of a stack: cut, delay, rate, blackhole, and heal."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Annotated, Any

import typer

from onceproof.cli.output import AsJson, print_document
from onceproof.cli.stack import Home, open_named
from onceproof.errors import RequestError, unknown
from onceproof.stacks.links import ANYONE, WAYS, Deed, Rule
from onceproof.stacks.links.verbs import disturb, heal

Target = Annotated[str, typer.Argument(help="broker:1, broker:controller, broker:all, store ...")]
Source = Annotated[
    str,
    typer.Option("--from", help="Whose connections: brokers, clients, driver, broker:1 ..."),
]
_HELP: dict[Deed, str] = {
    "cut": "Reset every connection to a member, and each new one.",
    "delay": "Delay the data to and from a member.",
    "rate": "Limit the data rate to and from a member.",
    "blackhole": "Drop the data to and from a member, without an error.",
}


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for deed, command in _COMMANDS.items():
        app.command(deed, help=_HELP[deed])(command)
    app.command("heal")(heal_links)


def _cut(
    target: Target, source: Source = ANYONE, home: Home = None, as_json: AsJson = False
) -> None:
    _do(Rule(_name("cut", target, source), "cut", ()), target, source, home, as_json=as_json)


def _delay(
    target: Target,
    source: Source = ANYONE,
    ms: Annotated[int, typer.Option(min=1, help="Milliseconds, each way.")] = 300,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    _do(
        Rule(_name("delay", target, source), "delay", (), ms=ms),
        target,
        source,
        home,
        as_json=as_json,
    )


def _rate(
    target: Target,
    source: Source = ANYONE,
    kbytes: Annotated[int, typer.Option(min=1, help="Kilobytes a second, each way.")] = 100,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    rule = Rule(_name("rate", target, source), "rate", (), kbytes=kbytes)
    _do(rule, target, source, home, as_json=as_json)


def _blackhole(
    target: Target,
    source: Source = ANYONE,
    way: Annotated[str, typer.Option(help="both, or requests or answers alone.")] = "both",
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    if way not in ("both", *WAYS):
        raise RequestError(unknown("--way", way, ("both", *WAYS)))
    ways = WAYS if way == "both" else (way,)
    rule = Rule(_name("blackhole", target, source), "blackhole", (), ways)
    _do(rule, target, source, home, as_json=as_json)


def heal_links(home: Home = None, as_json: AsJson = False) -> None:
    """Undo all faults on links; it may be repeated."""
    healed = heal(open_named(home), ())
    if as_json:
        print_document({"verb": "heal", "healed": healed})
    else:
        typer.echo(
            f"healed: {', '.join(one['rule']['name'] for one in healed) or 'nothing to heal'}"
        )


def _do(rule: Rule, target: str, source: str, home: Any, *, as_json: bool) -> None:
    proof = disturb(open_named(home), rule, target, source, Random())
    if as_json:
        print_document({"verb": rule.do, "members": proof.pop("members"), "proof": proof})
    else:
        counts = ", ".join(f"{name} {count}" for name, count in proof["counts"].items() if count)
        typer.echo(f"{rule.name}: {counts}")


def _name(deed: str, target: str, source: str) -> str:
    return f"{deed} {target} from {source}"


_COMMANDS: dict[Deed, Callable[..., None]] = {
    "cut": _cut,
    "delay": _delay,
    "rate": _rate,
    "blackhole": _blackhole,
}
