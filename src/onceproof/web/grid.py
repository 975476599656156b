"""Scenarios down, nights across: the verdict history as one table, and its newest night."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial

from onceproof.past.entry import Entry, Night
from onceproof.past.issues import Issue, result_of
from onceproof.verdict import Grade

NIGHTS = 14
_NO_PLAN = "runs without a plan"
_Key = tuple[str, bool]  # of a column: its name, and whether it is outside any night
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
    """All runs of a scenario in a night, the worst first, and the newest first of those.

    `missing` counts the seeds that the night was asked for and that have no run.
    """

    runs: tuple[Shown, ...]
    missing: int

    @property
    def worst(self) -> Shown:
        """The run that the cell shows."""
        return self.runs[0]


@dataclass(frozen=True)
class Column:
    """A night by its name, or a day (UTC) of what was run outside any night.

    `at` is when it began: as recorded, else the end of its first run. `asked` holds the seeds of
    each scenario that it was to run, and is None for a night that the history has no record of.
    """

    name: str
    outside: bool
    at: datetime
    asked: Mapping[str, Sequence[int]] | None


@dataclass(frozen=True)
class Row:
    """A scenario through the nights; a cell without a run is no verdict at all."""

    scenario: str
    cells: tuple[Cell, ...]
    standing: Standing


@dataclass(frozen=True)
class Grid:
    """The whole table: columns from the newest night on, rows from the worst standing on."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every run that it shows."""
        cells = (cell for row in self.rows for cell in row.cells)
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
    nights: Iterable[Night] = (),
) -> Grid:
    """Return the newest nights of the history; the order of the entries does not matter."""
    recorded = {night.name: night for night in nights}
    found: dict[_Key, list[Entry]] = {(name, False): [] for name in recorded}
    for entry in entries:
        day = f"{entry.at.astimezone(UTC):%Y-%m-%d}"
        found.setdefault((entry.night or day, not entry.night), []).append(entry)

    def age(key: _Key) -> tuple[datetime, _Key]:
        times = [entry.at for entry in found[key]]
        return max(times or [recorded[key[0]].at]), key

    keys = sorted(found, key=age, reverse=True)[:NIGHTS]
    columns = [_column(key, recorded.get(key[0]), found[key]) for key in keys]
    by_scenario = [_by_scenario(found[key]) for key in keys]

    def cell(scenario: str, column: Column, runs: Mapping[str, Sequence[Entry]]) -> Cell:
        ran = runs.get(scenario, ())
        shown = [Shown(entry, *standing(entry, issues, now), link(entry)) for entry in ran]
        shown.sort(key=lambda run: (run.standing.rank, run.entry.at), reverse=True)
        asked = set((column.asked or {}).get(scenario, ()))
        return Cell(tuple(shown), len(asked - {entry.seed for entry in ran}))

    rows = []
    asked = {name for column in columns for name in column.asked or {}}
    for scenario in asked.union(*by_scenario):
        cells = tuple(map(partial(cell, scenario), columns, by_scenario))
        rows.append(Row(scenario, cells, _of_row(columns, cells)))
    rows.sort(key=lambda row: (-row.standing.rank, row.scenario))
    return Grid(tuple(columns), tuple(rows))


def _column(key: _Key, night: Night | None, entries: Sequence[Entry]) -> Column:
    name, outside = key
    if night and not outside:
        return Column(name, outside, night.at, night.asked)
    return Column(name, outside, min(entry.at for entry in entries), {} if outside else None)


def _by_scenario(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found = defaultdict(list)
    for entry in entries:
        found[entry.scenario or _NO_PLAN].append(entry)
    return found


def _of_row(columns: Sequence[Column], cells: Sequence[Cell]) -> Standing:
    """Return how a scenario stands now: the worst of its newest night and of what came after it.

    So a green run by hand does not hide the red night before it. Without any night, the newest day;
    a scenario that nights were asked for and that never ran is unknown.
    """
    recent = []
    for column, cell in zip(columns, cells, strict=True):
        if cell.runs:
            recent.append(cell.worst.standing)
            if not column.outside:
                return max(recent, key=lambda found: found.rank)
    return recent[0] if recent else Standing.UNKNOWN


@dataclass(frozen=True)
class Tally:
    """The newest night: how many scenarios stand how, and how many of its runs are missing.

    `age` is that of its newest run. `night` is a day if all runs were by hand, and None if there is
    no run.
    """

    night: Column | None
    counts: Mapping[Standing, int]
    missing: int
    age: timedelta

    @property
    def grade(self) -> Grade:
        """PASS only where all that this night was asked for was run in it, and is as claimed."""
        worst = max(self.counts, key=lambda found: found.rank, default=Standing.UNKNOWN)
        unproved = self.missing or self.is_stale or not self.is_recorded
        return Grade.UNKNOWN if worst is Standing.AS_CLAIMED and unproved else worst.grade

    @property
    def is_recorded(self) -> bool:
        """Whether it is known what was to run."""
        return self.night is None or self.night.asked is not None

    @property
    def is_stale(self) -> bool:
        """Whether another night should have been since."""
        return self.night is not None and not self.night.outside and self.age > STALE

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
        if not self.is_recorded:
            return "Unknown if complete"
        return f"{self.missing} not run" if self.missing else "All as claimed"

    @property
    def sentence(self) -> str:
        """All of it, the worst first."""
        said = [
            f"{self.counts[found]} {found}"
            for found in sorted(self.counts, key=lambda found: -found.rank)
        ]
        said += [f"{self.missing} not run"] if self.missing else []
        said += [] if self.is_recorded else ["no record of what this night was asked for"]
        return ", ".join(said)


def tally(grid: Grid, now: datetime) -> Tally:
    """Return how the newest night went; a page without runs has none."""
    at = grid.latest
    if at is None:
        return Tally(None, {}, 0, timedelta(0))
    night, cells = grid.columns[at], [row.cells[at] for row in grid.rows]
    counts = Counter(cell.worst.standing for cell in cells if cell.runs)
    newest = max((run.entry.at for cell in cells for run in cell.runs), default=night.at)
    return Tally(night, counts, sum(cell.missing for cell in cells), now - newest)
