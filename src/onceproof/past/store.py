"""The verdict history as a store: rows are added and updated, never removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, Select, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from onceproof.errors import RequestError
from onceproof.past.entry import Entry, Night
from onceproof.past.issues import Issue
from onceproof.past.tables import ISSUES, NIGHTS, RUNS, database_errors, migrate, open_engine

# The columns that judging a run again may change; the others stay as first recorded.
_JUDGED = (
    "directory", "verdict", "claims", "as_claimed", "hold_to", "reasons", "findings", "differences",
    "broken", "faults", "landed", "recovery_s", "seconds", "verdict_digest", "ran_on",
    "effects", "pruned",
)  # fmt: skip


@dataclass(frozen=True)
class Store:
    """A verdict history; `label` is its address without a password."""

    engine: Engine
    label: str

    def record(self, entry: Entry) -> Entry:
        """Add a run, or update the verdict of a recorded one; return its row.

        A run that was only begun takes all values of the entry, and keeps its number. A verdict on
        other evidence than at first changes nothing: otherwise it would count as good once the
        evidence was restored.
        """
        kind = postgresql if self.engine.dialect.name == "postgresql" else sqlite
        adds = kind.insert(RUNS).values(_row(entry))
        asked = adds.on_conflict_do_update(
            index_elements=["run"],
            set_={name: adds.excluded[name] for name in _JUDGED},
            where=RUNS.c.evidence == adds.excluded.evidence,
        )
        begun = update(RUNS).where(RUNS.c.run == entry.run, RUNS.c.evidence == "")
        with self._writing() as connection:
            connection.execute(begun.values(_row(entry)))
            connection.execute(asked)
            found = connection.execute(select(RUNS).where(RUNS.c.run == entry.run))
            return _entry(found.mappings().one())

    def begin(self, entry: Entry) -> None:
        """Add a run that was not judged yet; a recorded run does not change."""
        kind = postgresql if self.engine.dialect.name == "postgresql" else sqlite
        with self._writing() as connection:
            connection.execute(kind.insert(RUNS).values(_row(entry)).on_conflict_do_nothing())

    def record_night(self, night: Night) -> None:
        """Add a night, or replace a recorded one."""
        kind = postgresql if self.engine.dialect.name == "postgresql" else sqlite
        adds = kind.insert(NIGHTS).values(asdict(night))
        changed = {name: adds.excluded[name] for name in ("at", "asked")}
        with self._writing() as connection:
            connection.execute(adds.on_conflict_do_update(index_elements=["name"], set_=changed))

    def nights(self) -> list[Night]:
        """Return all nights, the newest first."""
        with database_errors(self.label), self.engine.begin() as connection:
            found = connection.execute(select(NIGHTS).order_by(NIGHTS.c.at.desc())).mappings()
            return [Night(**_plain(row, Night)) for row in found]

    def find(self, run: str) -> Entry | None:
        """Return the row of a run by its name."""
        return next(iter(self._read(select(RUNS).where(RUNS.c.run == run))), None)

    def entries(
        self,
        *,
        scenario: str = "",
        tag: str = "",
        subject: str = "",
        night: str = "",
        verdict: str = "",
        last: int = 0,
    ) -> list[Entry]:
        """Return the matching rows, the newest first; at most `last`, if it is given."""
        asked = select(RUNS).order_by(RUNS.c.at.desc(), RUNS.c.number.desc())
        wanted = {"scenario": scenario, "subject": subject, "night": night, "verdict": verdict}
        for name, value in wanted.items():
            asked = asked.where(RUNS.c[name] == value) if value else asked
        found = [one for one in self._read(asked) if not tag or tag in one.tags]
        return found[:last] if last else found

    def mark_pruned(self, runs: Iterable[str]) -> None:
        """Mark the directories of these runs as removed."""
        with self._writing() as connection:
            for run in runs:
                connection.execute(update(RUNS).where(RUNS.c.run == run).values(pruned=True))

    def issues(self) -> list[Issue]:
        """Return the known issues, expired ones too, in the order of their numbers."""
        with database_errors(self.label), self.engine.begin() as connection:
            found = connection.execute(select(ISSUES).order_by(ISSUES.c.number)).mappings()
            return [_issue(row) for row in found]

    def add_issue(self, issue: Issue) -> Issue:
        """Add a known issue and return it with its number."""
        row = _row(issue) | {"name": issue.name or None}
        with self._writing() as connection:
            same = select(ISSUES).where(ISSUES.c.name == issue.name)
            if connection.execute(same).first():
                raise RequestError(
                    f"--name {issue.name} is taken by another issue; write a new one"
                )
            added = connection.execute(insert(ISSUES).values(row).returning(ISSUES))
            return _issue(added.mappings().one())

    def remove_issue(self, number: int) -> bool:
        """Remove a known issue and return whether it existed; its number is never reused."""
        with self._writing() as connection:
            return bool(
                connection.execute(delete(ISSUES).where(ISSUES.c.number == number)).rowcount
            )

    def _read(self, asked: Select[Any]) -> list[Entry]:
        with database_errors(self.label), self.engine.begin() as connection:
            return [_entry(row) for row in connection.execute(asked).mappings()]

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with (
            database_errors(self.label),
            self.engine.execution_options(writes=True).begin() as connection,
        ):
            yield connection


def open_store(address: object) -> Store:
    """Open the history at a path (SQLite) or a URL (PostgreSQL), and create it if necessary."""
    engine, label = open_engine(str(address))
    migrate(engine, label)
    return Store(engine, label)


def _row(one: Entry | Issue) -> dict[str, Any]:
    """Return the columns of a new row; the database assigns its number."""
    columns = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(one).items()}
    del columns["number"]
    return columns


def _plain(row: Mapping[Any, Any], kind: type[Entry | Issue | Night]) -> dict[str, Any]:
    found = {one.name: row[one.name] for one in fields(kind)}
    return {k: tuple(v) if isinstance(v, list) else _utc(v) for k, v in found.items()}


def _entry(row: Mapping[Any, Any]) -> Entry:
    return Entry(**_plain(row, Entry))


def _issue(row: Mapping[Any, Any]) -> Issue:
    found = _plain(row, Issue)
    return Issue(**found | {"name": found["name"] or ""})


def _utc(value: Any) -> Any:
    """Return a time with its zone, which SQLite does not store; any other value as it is."""
    if not isinstance(value, datetime):
        return value
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
