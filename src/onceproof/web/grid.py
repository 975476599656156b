"""Scenarios down, nights across: the verdict history as one table, and its newest night."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from onceproof.past.entry import Entry
from onceproof.past.issues import Issue, result_of
from onceproof.verdict import Grade

NIGHTS = 14
_NO_PLAN = "runs without a plan"
# A night has passed without a run: there is one each day, and it may begin late and take long.
STALE = timedelta(hours=36)


class Standing(StrEnum):
    """What a run means to whoever looks in the morning, from the best to the worst."""

    AS_CLAIMED = "as claimed"
    UNKNOWN = "unknown"
    KNOWN_RED = "known red"
    NEW_RED = "new red"

    @property
    def grade(self) -> Grade:
        """The colour and the sign that it is shown with: a control that fails is as claimed."""
        if self is Standing.AS_CLAIMED:
            return Grade.PASS
        return Grade.UNKNOWN if self is Standing.UNKNOWN else Grade.FAIL

    @property
    def rank(self) -> int:
        """Its place from the best, 0, to the worst."""
        return list(Standing).index(self)


def standing(entry: Entry, issues: Sequence[Issue], now: datetime) -> tuple[Standing, Issue | None]:
    """Return how a run stands, and the issue that it is known by.

    A row that says as claimed and contradicts itself, or whose faults did not all land, is unknown.
    """
    word, number = result_of(entry, issues, now)
    found = Standing(word)
    if found is Standing.AS_CLAIMED and not entry.is_proved:
        return Standing.UNKNOWN, None
    return found, next((issue for issue in issues if issue.number == number), None)


@dataclass(frozen=True)
class Shown:
    """A run as it is shown: how it stands, the issue it is known by, and where its report is.

    `link` is empty where there is no report to be had: it was pruned, or lies elsewhere.
    """

    entry: Entry
    standing: Standing
    issue: Issue | None
    link: str


@dataclass(frozen=True)
class Cell:
    """All runs of a scenario in a night, the worst first, and the newest first of those."""

    runs: tuple[Shown, ...]

    @property
    def worst(self) -> Shown:
        """The run that the cell shows."""
        return self.runs[0]


@dataclass(frozen=True, order=True)
class Column:
    """A night by its name, or a day (UTC) of what was run outside any night."""

    name: str
    outside: bool


@dataclass(frozen=True)
class Row:
    """A scenario through the nights; None where it was not run, which is no verdict at all."""

    scenario: str
    cells: tuple[Cell | None, ...]
    standing: Standing


@dataclass(frozen=True)
class Grid:
    """The whole table: columns from the newest night on, rows from the worst standing on."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every run that it shows."""
        cells = (cell for row in self.rows for cell in row.cells if cell)
        return tuple(run.entry for cell in cells for run in cell.runs)

    @property
    def latest(self) -> int | None:
        """The place of the newest night, or of the newest day if there is no night."""
        nights = [at for at, column in enumerate(self.columns) if not column.outside]
        return next(iter(nights), 0 if self.columns else None)


def make_grid(
    entries: Iterable[Entry],
    issues: Sequence[Issue],
    now: datetime,
    link: Callable[[Entry], str],
) -> Grid:
    """Return the newest nights of the history; the order of the entries does not matter."""
    found: dict[Column, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        found[_column(entry)][entry.scenario or _NO_PLAN].append(entry)
    columns = sorted(found, key=lambda column: (_newest(found[column]), column), reverse=True)
    columns = columns[:NIGHTS]

    def cell(runs: Sequence[Entry]) -> Cell | None:
        return _cell(runs, issues, now, link) if runs else None

    rows = []
    for scenario in {name for column in columns for name in found[column]}:
        cells = tuple(cell(found[column].get(scenario, [])) for column in columns)
        rows.append(Row(scenario, cells, _of_row(columns, cells)))
    rows.sort(key=lambda row: (-row.standing.rank, row.scenario))
    return Grid(tuple(columns), tuple(rows))


def _column(entry: Entry) -> Column:
    day = f"{entry.at.astimezone(UTC):%Y-%m-%d}"
    return Column(entry.night or day, outside=not entry.night)


def _newest(runs: Mapping[str, Sequence[Entry]]) -> datetime:
    return max(entry.at for each in runs.values() for entry in each)


def _cell(
    runs: Sequence[Entry],
    issues: Sequence[Issue],
    now: datetime,
    link: Callable[[Entry], str],
) -> Cell:
    shown = []
    for entry in runs:
        shown.append(Shown(entry, *standing(entry, issues, now), link(entry)))
    shown.sort(key=lambda run: (run.standing.rank, run.entry.at), reverse=True)
    return Cell(tuple(shown))


def _of_row(columns: Sequence[Column], cells: Sequence[Cell | None]) -> Standing:
    """Return how a scenario stands now: the worst of its newest night and of what came after it.

    So a green run by hand does not hide the red night before it. Without any night, the newest day.
    """
    recent = []
    for column, cell in zip(columns, cells, strict=True):
        if cell:
            recent.append(cell.worst.standing)
            if not column.outside:
                return max(recent, key=lambda found: found.rank)
    return recent[0]


@dataclass(frozen=True)
class Tally:
    """The newest night: how many scenarios stand how, and how many others were not run in it.

    `age` is that of its newest run; `is_night` is False where nothing was run but by hand.
    """

    night: str
    counts: Mapping[Standing, int]
    missing: int
    age: timedelta
    is_night: bool

    @property
    def grade(self) -> Grade:
        """PASS only where every scenario of the page was run in this night, and is as claimed."""
        worst = max(self.counts, key=lambda found: found.rank, default=Standing.UNKNOWN)
        unproved = worst is Standing.AS_CLAIMED and (self.missing or self.is_stale)
        return Grade.UNKNOWN if unproved else worst.grade

    @property
    def is_stale(self) -> bool:
        """Whether another night should have been since."""
        return self.is_night and self.age > STALE

    @property
    def headline(self) -> str:
        """The worst of it in a few words."""
        if not self.counts:
            return "Nothing was run"
        worst = max(self.counts, key=lambda found: found.rank)
        if worst is not Standing.AS_CLAIMED:
            return f"{self.counts[worst]} {worst}"
        if self.is_stale:
            return "No night since"
        return f"{self.missing} not run" if self.missing else "All as claimed"

    @property
    def sentence(self) -> str:
        """All of it, the worst first."""
        said = [
            f"{self.counts[found]} {found}"
            for found in sorted(self.counts, key=lambda found: -found.rank)
        ]
        return ", ".join([*said, *([f"{self.missing} not run"] if self.missing else [])])


def tally(grid: Grid, now: datetime) -> Tally:
    """Return how the newest night went; a page without runs has none."""
    at = grid.latest
    if at is None:
        return Tally("", {}, 0, timedelta(0), is_night=False)
    cells = [row.cells[at] for row in grid.rows]
    counts = Counter(cell.worst.standing for cell in cells if cell)
    newest = max(run.entry.at for cell in cells if cell for run in cell.runs)
    column = grid.columns[at]
    return Tally(column.name, counts, cells.count(None), now - newest, is_night=not column.outside)
