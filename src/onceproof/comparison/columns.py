"""The pairing of columns: by name, never by position; columns that do not match are an error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from onceproof.comparison.kinds import NUMBERS, Kind, common
from onceproof.errors import RequestError, out_of_range, unknown


@dataclass(frozen=True)
class Column:
    """A column of a side; `kind` is None for a type that is not compared, `native` its name."""

    name: str
    kind: Kind | None
    native: str


@dataclass(frozen=True)
class Pair:
    """A column of both sides and the kind in which it is compared."""

    kind: Kind
    expected: Column
    observed: Column
    tolerance: float | None = None

    @property
    def name(self) -> str:
        """The name, the same on both sides."""
        return self.expected.name


# Columns whose numbers may differ by a tolerance, each by its name in a step.
Near = Sequence[tuple[str, Pair]]


def cell_columns(near: Near) -> list[str]:
    """Return the columns that distinguish the cells of rows that are equal in exact values."""
    return [f"{name}_{part}" for name, _ in near for part in ("like", "step")]


@dataclass(frozen=True)
class Request:
    """The options of a comparison; without a key, whole rows are compared."""

    key: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    tolerance: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The columns of a comparison: `key` identifies a row, the others are its values.

    Without a key every column is part of it: then no row can be `changed`.
    """

    key: tuple[Pair, ...]
    exact: tuple[Pair, ...]
    near: tuple[Pair, ...]
    ignored: tuple[str, ...]

    def document(self) -> dict[str, object]:
        """Return the role of each column."""
        return {
            "key": [pair.name for pair in self.key],
            "values": [pair.name for pair in (*self.exact, *self.near)],
            "ignored": list(self.ignored),
            "tolerance": {pair.name: pair.tolerance for pair in self.near},
        }


def match(expected: Sequence[Column], observed: Sequence[Column], request: Request) -> Plan:
    """Pair the columns of both sides, or raise `RequestError` with the name of a mismatch.

    An ignored column may be missing from a side, or be of any type.
    """
    ours = {column.name: column for column in expected}
    theirs = {column.name: column for column in observed}
    _refuse_unknown([*ours, *theirs], request)
    ignored = set(request.ignore)
    _refuse_missing(
        "expected", [name for name in ours if name not in theirs | dict.fromkeys(ignored)]
    )
    _refuse_missing(
        "observed", [name for name in theirs if name not in ours | dict.fromkeys(ignored)]
    )
    pairs = [_pair(ours[name], theirs[name], request) for name in ours if name not in ignored]
    if not pairs:
        raise RequestError("no column is left to compare; ignore fewer")
    by_name = {pair.name: pair for pair in pairs}
    key = [by_name[name] for name in dict.fromkeys(request.key)] or pairs
    values = [pair for pair in pairs if pair not in key]
    return Plan(
        tuple(key),
        tuple(pair for pair in values if pair.tolerance is None),
        tuple(pair for pair in values if pair.tolerance is not None),
        tuple(name for name in dict.fromkeys([*ours, *theirs]) if name in ignored),
    )


def _refuse_unknown(names: Iterable[str], request: Request) -> None:
    columns = dict.fromkeys(names)
    for option, given in (
        ("--key", request.key),
        ("--ignore", request.ignore),
        ("--tolerance", request.tolerance),
    ):
        for name in given:
            if name not in columns:
                raise RequestError(f"{option}: {unknown('column', name, columns)}")
    for name in request.key:
        if name in request.ignore:
            raise RequestError(f"column {name} is both in the key and ignored; name it once")
    for name, allowed in request.tolerance.items():
        _refuse_tolerance(name, allowed, request)


def _refuse_tolerance(name: str, allowed: float, request: Request) -> None:
    if not request.key:
        raise RequestError(
            f"--tolerance {name} needs a key: whole rows have no tolerance; name --key columns"
        )
    if name in request.key or name in request.ignore:
        raise RequestError(f"--tolerance {name} names a key or an ignored column; name a value")
    if not (math.isfinite(allowed) and allowed >= 0):
        raise RequestError(
            out_of_range(f"--tolerance {name}", f"{allowed:g}", "a number from 0, as in 1e-9")
        )


def _refuse_missing(side: str, names: Sequence[str]) -> None:
    if names:
        words = f"column {names[0]} is" if len(names) == 1 else f"columns {', '.join(names)} are"
        options = " ".join(f"--ignore {name}" for name in names)
        raise RequestError(f"{words} only in the {side} side; add to the other, or {options}")


def _pair(ours: Column, theirs: Column, request: Request) -> Pair:
    name = ours.name
    for side, column in (("expected", ours), ("observed", theirs)):
        if column.kind is None:
            raise RequestError(
                f"column {name} is {column.native} in the {side} side, a type that is not "
                f"compared; cast it to text, or --ignore {name}"
            )
    kind = common(ours.kind, theirs.kind) if ours.kind and theirs.kind else None
    if kind is None:
        raise RequestError(
            f"column {name} is {ours.native} in the expected side and {theirs.native} in the "
            f"observed; cast one of them, or --ignore {name}"
        )
    tolerance = request.tolerance.get(name)
    if tolerance is not None and kind.name not in NUMBERS:
        raise RequestError(
            f"--tolerance {name} is for numbers, but {name} is {ours.native}; leave it out"
        )
    return Pair(kind, ours, theirs, tolerance)
