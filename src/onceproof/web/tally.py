"""How the newest night went, in one line: what people read first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from onceproof.verdict import Grade
from onceproof.web.grid import Grid
from onceproof.web.standing import Standing

# A night has passed without a run: there is one each day, and it may begin late and take long.
STALE = timedelta(hours=36)


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
