"""`onceproof diff`: the rows in which two multisets differ, by class."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onceproof.cli.output import AsJson, print_columns, print_document
from onceproof.errors import RequestError, invalid

if TYPE_CHECKING:
    from onceproof.comparison import Differences

Place = Annotated[
    str,
    typer.Argument(
        help="A file, folder or pattern of parquet, CSV or JSON lines; or a table, as "
        "postgresql://user@host/database#table."
    ),
]
Names = Annotated[list[str] | None, typer.Option(help="Columns; with commas, or repeated.")]
Near = Annotated[
    list[str] | None, typer.Option(help="The largest difference of numbers: COLUMN=1e-9.")
]
Memory = Annotated[str, typer.Option(help="The memory limit; more data goes to disk.")]
Engine = Annotated[str, typer.Option(help="duckdb, or spark for parquet of any size.")]
Master = Annotated[str, typer.Option(help="Spark's master, with --engine spark.")]
Samples = Annotated[int, typer.Option(min=0, help="Differing keys to show of every class.")]
Write = Annotated[
    Path | None, typer.Option(help="A folder for differences.parquet, with the rows that differ.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(diff)


def diff(
    expected: Place,
    observed: Place,
    key: Names = None,
    ignore: Names = None,
    tolerance: Near = None,
    memory: Memory = "1GB",
    engine: Engine = "duckdb",
    master: Master = "local[*]",
    samples: Samples = 5,
    write: Write = None,
    as_json: AsJson = False,
) -> None:
    """Compare two multisets of rows: exit 0 if they are equal, 1 if not, 3 if they cannot be."""
    from onceproof.comparison import compare

    with _progress() as progress:
        answer = compare(
            expected,
            observed,
            key=_names(key),
            ignore=_names(ignore),
            tolerance=dict(map(_tolerance, tolerance or ())),
            memory=memory,
            engine=engine,
            spark=master,
            samples=samples,
            write_to=write,
            progress=progress,
        )
    if as_json:
        print_document(answer.document())
    else:
        _print(answer)
    if not answer.equal:
        raise typer.Exit(1)


def _names(given: Sequence[str] | None) -> list[str]:
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]


def _tolerance(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise RequestError(invalid("--tolerance", text, "COLUMN=1e-9")) from None


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show the current step and its time on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading the columns", total=None)
        yield lambda words: bar.update(task, description=words)


def _print(answer: Differences) -> None:
    rows = "{expected:,} rows expected, {observed:,} observed".format(**answer.rows)
    for side, count in answer.rows.items():
        if not count:
            typer.echo(f"The {side} side is empty.")
    if answer.equal:
        typer.echo(f"Equal: {rows}.")
        return
    counts = ", ".join(f"{count:,} {one}" for one, count in answer.counts.items() if count)
    typer.echo(f"Different: {counts}; {rows}.")
    if answer.samples:
        print_columns(["class", "rows", "key", "expected", "observed"], map(_row, answer.samples))


def _row(sample: dict[str, Any]) -> list[str]:
    key = sample["key"]
    expected, observed = sample["expected"], sample["observed"]
    names = [name for name in (expected + observed)[0] if name not in key]
    if len(expected) == len(observed) == 1:
        names = [name for name in names if expected[0].get(name) != observed[0].get(name)] or names
    return [
        sample["class"],
        f"{sample['rows']:,}",
        _values(key, list(key)),
        *(
            _rows(rows, names, sample[f"{side}_rows"])
            for side, rows in (("expected", expected), ("observed", observed))
        ),
    ]


def _rows(rows: list[dict[str, Any]], names: list[str], total: int) -> str:
    if not rows or not names:
        return f"{total:,} rows"
    return "\n".join(_values(row, names) for row in rows)


def _values(row: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name}={_text(row[name])}" for name in names if name in row)


def _text(value: Any) -> str:
    return "NULL" if value is None else value if isinstance(value, str) else repr(value)
