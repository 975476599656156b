"""`onceproof doctor`: check the requirements of a stack and a run, and of a scenario."""

from __future__ import annotations

from dataclasses import asdict

import typer

from onceproof.cli.output import AsJson, MaybeWhich, print_columns, print_document
from onceproof.cli.run import Home
from onceproof.machine.home import onceproof_home
from onceproof.setup.checks import run_checks
from onceproof.stacks.local.ports import check_ports
from onceproof.stacks.members.programs import check_broker_archive, check_spark_archive


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(doctor)


def doctor(
    scenario: MaybeWhich = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Check whether this machine is ready, and print what to do if it is not.

    With a scenario, also its job, its stack and its faults; nothing is started.
    """
    checks = [*run_checks(), check_ports()]
    if all(check.ok for check in checks if check.name in ("java", "jars", "pyspark")):
        parts = onceproof_home()
        checks += [check_broker_archive(parts), check_spark_archive(parts)]
    if scenario is not None:
        from onceproof.doctor import check_scenario

        checks += check_scenario(scenario, home)
    if as_json:
        print_document({"checks": [asdict(check) for check in checks]})
    else:
        rows = ([_word(check.ok), check.name, check.value] for check in checks)
        print_columns(["", "check", "found"], rows)
        for check in checks:
            if not check.ok:
                typer.echo(f"{check.name}: {check.remedy}")
    if any(check.required and not check.ok for check in checks):
        raise typer.Exit(3)


def _word(ok: bool) -> str:
    return "ok" if ok else "NO"
