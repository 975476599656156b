"""`onceproof list`, `show` and `explain`: the catalogue, and a scenario as YAML or as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from onceproof.cli.output import AsJson, Which, print_columns, print_document

if TYPE_CHECKING:
    from onceproof.scenario import Scenario


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("list")(list_scenarios)
    app.command()(show)
    app.command()(explain)


def list_scenarios(
    tag: Annotated[str, typer.Option(help="Only scenarios with this tag.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the scenarios of the catalogue."""
    from onceproof.scenario import load_catalogue
    from onceproof.scenario.catalogue import with_tag

    found = load_catalogue()
    rows = [_row(one) for one in (with_tag(tag, found) if tag else found)]
    if as_json:
        print_document({"scenarios": rows})
        return
    cells = [[one["name"], one["hold_to"], _claim(one), " ".join(one["tags"])] for one in rows]
    print_columns(["scenario", "held to", "claims", "tags"], cells)


def show(scenario: Which) -> None:
    """Print a scenario as YAML with every field, defaults included."""
    import yaml

    from onceproof.scenario import find_scenario

    typer.echo(yaml.safe_dump(find_scenario(scenario).fields(), sort_keys=False), nl=False)


def explain(
    scenario: Which,
    seed: Annotated[int, typer.Option(min=0, help="The seed of every random choice.")] = 0,
    subject: Annotated[str, typer.Option(help="The version under test.")] = "",
) -> None:
    """Describe what a run of a scenario would do and how it is judged; nothing is started."""
    from onceproof.phases.plan import plan_of
    from onceproof.phases.subject import find_subject
    from onceproof.scenario import find_scenario
    from onceproof.scenario.deciding import deciding_files
    from onceproof.scenario.sentences import explain as sentences

    found = find_scenario(scenario)
    deciding = deciding_files(found)
    under_test = find_subject(found.job.command, {"here": found.folder}, subject, deciding)
    plan = plan_of(found, seed, deciding, under_test, {})
    typer.echo(f"{found.name}, seed {seed} ({found.file})")
    for heading, lines in sentences(plan).items():
        typer.echo(f"\n{heading}")
        for one in lines:
            typer.echo(f"  {one}")


def _row(scenario: Scenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "pipeline": scenario.job.name,
        "sink": scenario.output.sink,
        "family": scenario.output.family,
        "store": scenario.output.store,
        "faults": [fault.name for fault in scenario.faults],
        "hold_to": scenario.claim.promise.guarantee,
        "claims": scenario.claim.verdict,
        "anomalies": sorted(scenario.claim.anomalies),
        "tags": list(scenario.tags),
        "file": scenario.file,
    }


def _claim(row: dict[str, Any]) -> str:
    return f"{row['claims']} {' '.join(row['anomalies'])}".strip()
