"""The removal of old runs' directories; rows of the history always stay."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from onceproof.documents import read_object
from onceproof.errors import EvidenceError
from onceproof.gates.policy import Need
from onceproof.job.handle import find_agent
from onceproof.past.entry import Entry, name_of
from onceproof.past.store import Store
from onceproof.runs.directory import RunDirectory


@dataclass(frozen=True)
class Kept:
    """A run's directory, the time of its end or plan, and why it stays; "" if it may be removed."""

    run: str
    directory: Path
    at: datetime
    because: str


def rests_on(needs: Iterable[Need], entries: Sequence[Entry], now: datetime) -> set[str]:
    """Return the runs that a gate with these needs may look at, for any version.

    These are the newest runs of a scenario in each version, as many as the gate looks at. Runs
    older than a need's `max_age` cannot open a gate, so they are left out.
    """
    newest_first = sorted(entries, key=lambda entry: entry.at, reverse=True)
    found: set[str] = set()
    for need in needs:
        counted: Counter[tuple[str, str]] = Counter()
        for entry in (one for one in newest_first if one.scenario == need.scenario):
            version = entry.subject, entry.ran_on
            counted[version] += 1
            is_fresh = need.max_age is None or now - entry.at <= need.max_age
            if counted[version] <= need.looks_at and is_fresh:
                found.add(entry.run)
    return found


def look(
    runs: Path, entries: Sequence[Entry], days: int, needs: Sequence[Need], now: datetime
) -> list[Kept]:
    """Return every run's directory below a folder, the oldest first, and why it stays."""
    known = {entry.run: entry for entry in entries}
    needed = rests_on(needs, entries, now)
    found = []
    for run in _directories(runs):
        name = _name(run)
        entry = known.get(name)
        if entry is not None and Path(entry.directory).resolve() != run.root.resolve():
            entry = None  # a copy of that run
        at = entry.at if entry else datetime.fromtimestamp(run.plan.stat().st_mtime, UTC)
        is_needed = entry is not None and name in needed
        found.append(Kept(name, run.root, at, _because(run, at, days, now, is_needed=is_needed)))
    return sorted(found, key=lambda one: one.at)


def remove(store: Store | None, going: Sequence[Kept]) -> None:
    """Remove directories, after marking the runs as pruned: partial evidence proves nothing.

    The plan is removed last, so that the next call finds and finishes an interrupted removal.
    """
    places = {one.directory.resolve() for one in going}
    if store:
        rows = [one for one in store.entries() if Path(one.directory).resolve() in places]
        store.mark_pruned(one.run for one in rows)
    for one in going:
        for path in one.directory.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != RunDirectory(one.directory).plan.name:
                path.unlink()
        shutil.rmtree(one.directory)


def _directories(runs: Path) -> Iterator[RunDirectory]:
    """Yield the directories with a plan; links are not followed."""
    for plan in sorted(runs.glob("*/*/plan.json")):
        root = plan.parent
        if plan.is_file() and not (root.is_symlink() or root.parent.is_symlink()):
            yield RunDirectory(root)


def _name(run: RunDirectory) -> str:
    try:
        return name_of(run, read_object(run.plan))
    except EvidenceError:
        return name_of(run, {})


def _because(run: RunDirectory, at: datetime, days: int, now: datetime, *, is_needed: bool) -> str:
    if now - at < timedelta(days=days):
        return "young"
    try:
        if (agent := find_agent(run)) is not None and agent.is_alive:
            return "its agent is alive"
    except EvidenceError as error:
        return f"its agent cannot be identified: {error}"
    return "the gate rests on it" if is_needed else ""
