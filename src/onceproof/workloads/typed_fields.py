"""Fields of a template: types with their bounds as text, and the values of many events at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onceproof.errors import RequestError, invalid
from onceproof.workloads import awkward
from onceproof.workloads.awkward import Awkward

Cells = list[Any]


@dataclass(frozen=True)
class Drawn:
    """The inputs of cells: the events' ids and times, and a generator of random numbers."""

    ids: Sequence[int]
    times: Sequence[int]
    rng: Any

    def whole(self, least: int, most: int) -> list[int]:
        """Return a whole number for each event, both bounds included."""
        return list(self.rng.integers(least, most, len(self.ids), endpoint=True).tolist())


def columns_of(fields: Mapping[str, Any], drawn: Drawn) -> dict[str, Cells]:
    """Return the cells of each field; raises `RequestError` for an invalid type."""
    cells: dict[str, Cells] = {}
    for name, given in fields.items():
        cells[name] = (
            objects(given, drawn) if isinstance(given, Mapping) else _cells(name, given, drawn)
        )
    return cells


def objects(fields: Mapping[str, Any], drawn: Drawn) -> list[dict[str, Any]]:
    """Return the JSON object of each event."""
    found = columns_of(fields, drawn)
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


Choices = Mapping[str, Sequence[tuple[tuple[str, ...], Any]]]


def awkward_choices(fields: Mapping[str, Any], fits: Callable[[Any], bool]) -> Choices:
    """Return the awkward values of the fields with their paths, by their way.

    `fits` returns whether an object can be encoded.
    """
    (sample,) = objects(fields, Drawn([0], [0], _any_rng()))
    found: dict[str, list[tuple[tuple[str, ...], Any]]] = {}
    for name, values in _AWKWARD.items():
        for path, kind in _leaves(fields):
            for value in values.get(kind, ()):
                made = deepcopy(sample)
                _put(made, path, value)
                if fits(made):
                    found.setdefault(name, []).append((path, value))
    return found


def replace(made: dict[str, Any], choices: Choices, how: Awkward) -> None:
    """Set one field of an object to an awkward value, if the way is one of a field."""
    if how.name in choices:
        _put(made, *how.one_of(choices[how.name]))


def _any_rng() -> Any:
    import numpy

    return numpy.random.default_rng(0)


def _put(made: dict[str, Any], path: Sequence[str], value: Any) -> None:
    *parents, name = path
    for one in parents:
        made = made[one]
    made[name] = value


def _leaves(fields: Mapping[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """Return the path and the type of each field."""
    found: list[tuple[tuple[str, ...], str]] = []
    for name, given in fields.items():
        if isinstance(given, Mapping):
            found += [((name, *path), kind) for path, kind in _leaves(given)]
        else:
            found.append(((name,), str(given).split()[0]))
    return found


def _cells(name: str, given: Any, drawn: Drawn) -> Cells:
    kind, *words = str(given).split()
    try:
        return _TYPES[kind][1](words, drawn)
    except (KeyError, ValueError):
        use = f"one of {', '.join(words for words, _ in _TYPES.values())}"
        raise RequestError(f"field {name}: {invalid('type', given, use)}") from None


def _int(words: list[str], drawn: Drawn) -> Cells:
    least, most = map(int, words)
    return drawn.whole(least, most)


def _decimal(words: list[str], drawn: Drawn) -> Cells:
    least, most = (round(float(word) * 100) for word in words)
    return [one / 100 for one in drawn.whole(least, most)]


def _choice(words: list[str], drawn: Drawn) -> Cells:
    return [words[one] for one in drawn.whole(0, len(words) - 1)]


def _text(words: list[str], drawn: Drawn) -> Cells:
    prefix, count = words
    return [f"{prefix}-{one}" for one in drawn.whole(0, int(count) - 1)]


def _timestamp(words: list[str], drawn: Drawn) -> Cells:  # noqa: ARG001
    times = (datetime.fromtimestamp(one / 1000, UTC) for one in drawn.times)
    return [one.isoformat(timespec="milliseconds").replace("+00:00", "Z") for one in times]


# The syntax of each type, and the function from its arguments to cells.
_TYPES: Mapping[str, tuple[str, Callable[[list[str], Drawn], Cells]]] = {
    "id": ("id", lambda _, drawn: list(drawn.ids)),
    "int": ("int LEAST MOST", _int),
    "decimal": ("decimal LEAST MOST", _decimal),
    "choice": ("choice WORD WORD ...", _choice),
    "text": ("text PREFIX COUNT", _text),
    "boolean": ("boolean", lambda _, drawn: list(map(bool, drawn.whole(0, 1)))),
    "timestamp": ("timestamp", _timestamp),
    "epoch_ms": ("epoch_ms", lambda _, drawn: list(drawn.times)),
    "constant": ("constant TEXT", lambda words, drawn: [" ".join(words)] * len(drawn.ids)),
}
# The values of each awkward way, by type: an id identifies the event, and its time orders it.
_WORDS = ("text", "choice", "constant")
_AWKWARD: Mapping[str, Mapping[str, Sequence[Any]]] = {
    awkward.EMPTY_TEXT: dict.fromkeys(_WORDS, ("",)),
    awkward.UNICODE: dict.fromkeys(_WORDS, (*awkward.TEXTS, awkward.NUL)),
    awkward.NUMBER: {"int": awkward.LONGS, "decimal": awkward.DECIMALS},
    awkward.NULL: dict.fromkeys((*_WORDS, "int", "decimal", "boolean"), (None,)),
    awkward.HUGE_TEXT: dict.fromkeys(_WORDS, (awkward.HUGE,)),
}
