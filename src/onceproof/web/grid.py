"""The verdict history as a table of scenarios by night, and the summary of its newest night."""

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
# The age of a night after which the next one is missing: it may begin late and take long.
STALE = timedelta(hours=36)


class Standing(StrEnum):
    """The result of a run for its reader, from the best to the worst."""

    AS_CLAIMED = "as claimed"
    UNKNOWN = "unknown"
    KNOWN_RED = "known red"
    NEW_RED = "new red"

    @property
    def grade(self) -> Grade:
        """The grade whose colour and sign are shown: a control that fails as claimed is PASS."""
        if self is Standing.AS_CLAIMED:
            return Grade.PASS
        return Grade.UNKNOWN if self is Standing.UNKNOWN else Grade.FAIL

    @property
    def rank(self) -> int:
        """The position from the best, 0, to the worst."""
        return list(Standing).index(self)


def standing(entry: Entry, issues: Sequence[Issue], now: datetime) -> tuple[Standing, Issue | None]:
    """Return the standing of a run, and its known issue.

    A row that is as claimed but contradicts itself, or whose faults did not all land, is unknown.
    """
    word, number = result_of(entry, issues, now)
    found = Standing(word)
    if found is Standing.AS_CLAIMED and not entry.is_proved:
        return Standing.UNKNOWN, None
    return found, next((issue for issue in issues if issue.number == number), None)


@dataclass(frozen=True)
class ShownRun:
    """A run with its standing, its known issue, and the link to its report.

    `link` is empty if there is no report: it was pruned, or is not in the runs folder.
    """

    entry: Entry
    standing: Standing
    issue: Issue | None
    link: str


@dataclass(frozen=True)
class Cell:
    """The runs of a scenario in a night, the worst first, of equal ones the newest first.

    `missing` is the number of requested seeds without a run.
    """

    runs: tuple[ShownRun, ...]
    missing: int

    @property
    def worst(self) -> ShownRun:
        """The run that represents the cell."""
        return self.runs[0]


@dataclass(frozen=True)
class Column:
    """A night by its name, or a day (UTC) of runs outside any night.

    `at` is its recorded beginning, or else the end of its first run. `asked` has the requested
    seeds of each scenario; None if the history has no record of the night.
    """

    name: str
    outside: bool
    at: datetime
    asked: Mapping[str, Sequence[int]] | None


@dataclass(frozen=True)
class Row:
    """A scenario in all nights; a cell without runs has no verdict."""

    scenario: str
    cells: tuple[Cell, ...]
    standing: Standing


@dataclass(frozen=True)
class Grid:
    """The whole table: columns with the newest night first, rows with the worst standing first."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All runs of the table."""
        cells = (cell for row in self.rows for cell in row.cells)
        return tuple(run.entry for cell in cells for run in cell.runs)

    @property
    def latest(self) -> int | None:
        """The index of the newest night, or of the newest day without any night."""
        nights = [at for at, column in enumerate(self.columns) if not column.outside]
        return next(iter(nights), 0 if self.columns else None)


def make_grid(
    entries: Iterable[Entry],
    issues: Sequence[Issue],
    now: datetime,
    link: Callable[[Entry], str],
    nights: Iterable[Night] = (),
) -> Grid:
    """Return the table of the newest nights; the order of the entries does not matter."""
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
        shown = [ShownRun(entry, *standing(entry, issues, now), link(entry)) for entry in ran]
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
    """Return the current standing of a scenario: the worst of its newest night and later runs.

    So a green manual run does not hide the red night before it. Without any night the newest day
    counts; a scenario that was requested and never ran is unknown.
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
    """The summary of the newest night: scenarios by standing, and the number of missing runs.

    `age` is the age of its newest run. `night` is a day if all runs were manual, and None without
    any run.
    """

    night: Column | None
    counts: Mapping[Standing, int]
    missing: int
    age: timedelta

    @property
    def grade(self) -> Grade:
        """PASS only if every requested run of this night exists and is as claimed."""
        worst = max(self.counts, key=lambda found: found.rank, default=Standing.UNKNOWN)
        unproved = self.missing or self.is_stale or not self.is_recorded
        return Grade.UNKNOWN if worst is Standing.AS_CLAIMED and unproved else worst.grade

    @property
    def is_recorded(self) -> bool:
        """Whether the requested runs are known."""
        return self.night is None or self.night.asked is not None

    @property
    def is_stale(self) -> bool:
        """Whether a newer night is overdue."""
        return self.night is not None and not self.night.outside and self.age > STALE

    @property
    def headline(self) -> str:
        """The worst result in a few words."""
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
        """All results, the worst first."""
        parts = [
            f"{self.counts[found]} {found}"
            for found in sorted(self.counts, key=lambda found: -found.rank)
        ]
        parts += [f"{self.missing} not run"] if self.missing else []
        parts += [] if self.is_recorded else ["no record of the requested runs"]
        return ", ".join(parts)


def tally(grid: Grid, now: datetime) -> Tally:
    """Return the summary of the newest night; without runs it is empty."""
    at = grid.latest
    if at is None:
        return Tally(None, {}, 0, timedelta(0))
    night, cells = grid.columns[at], [row.cells[at] for row in grid.rows]
    counts = Counter(cell.worst.standing for cell in cells if cell.runs)
    newest = max((run.entry.at for cell in cells for run in cell.runs), default=night.at)
    return Tally(night, counts, sum(cell.missing for cell in cells), now - newest)
