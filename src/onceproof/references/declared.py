"""References that are said rather than written: for the job of somebody else, by its output's key.

They do not rest on the offset log: what was sent must come out, whichever batch has read it. The
log tells only which batch that was, so that a row can be blamed on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onceproof.errors import EvidenceError, RequestError
from onceproof.naming import find_attribute
from onceproof.references import WRITE, Events, Reference, find_reference
from onceproof.runs.plan import OutputPart

EACH_ONCE, CALM = "each_once", "calm"
WORDS = (EACH_ONCE, CALM)
# Which batch has read a row's event first, and where that stands; `_unread` is true of what every
# query left out.
ORIGIN = ("_batch", "_topic", "_partition", "_offset", "_unread")
# Columns that the comparison leaves out, as no output has them.
NOT_COMPARED = (*ORIGIN, "_attempt")
_TEXT = "string"
_WRITE = f"{', '.join(WORDS)}, or {WRITE}"


def reference_of(output: OutputPart) -> Reference:
    """Return the reference of an output: one that is written, or one that is made of its key."""
    return find_declared(output.reference, output.declared)


def find_declared(name: str, declared: Mapping[str, Any]) -> Reference:
    """Return the reference of this name, for rows of which so much is declared."""
    found = _find_declared(name, declared)
    if taken := [one for one in found.columns if one in NOT_COMPARED]:
        raise RequestError(
            f"column {taken[0]} has a name that is Onceproof's own, and would not be compared: give"
            " it another in the output, or leave it out"
        )
    return found


def _find_declared(name: str, output: Mapping[str, Any]) -> Reference:
    if name in WORDS:
        return _declared(output, name, _WANTED[name])
    if not output:
        return find_reference(name)
    found = find_attribute(name, f"reference {name!r}", _WRITE)
    if not callable(found) or isinstance(found, type):
        what = type(found).__name__
        raise RequestError(f"{name} is a {what}: with a key it must be a function of a DataFrame")
    return _declared(output, name, lambda events, _: found(events.frame))


def _declared(
    output: Mapping[str, Any], name: str, wanted: Callable[[Events, Mapping[str, str]], Any]
) -> Reference:
    if not output.get("key"):
        raise RequestError(f"{name} needs the key of the output: write key: [order_id]")
    key, typed = tuple(output["key"]), output.get("columns", {})
    columns = {**{one: typed.get(one, _TEXT) for one in key}, **typed}
    if name == EACH_ONCE and (beyond := [one for one in columns if one not in key]):
        raise RequestError(
            f"{name} knows the key alone, and columns has {', '.join(beyond)}: leave it out, or"
            " write a function of a DataFrame"
        )
    places = {one: output.get("from", {}).get(one, f"value.{one}") for one in key}

    def emitted(events: Events) -> Any:
        rows = wanted(events, places)
        if missing := [one for one in columns if one not in rows.columns]:
            raise EvidenceError(
                f"{name} gives no column {missing[0]}, but {', '.join(rows.columns)}: write it into"
                " the rows, or leave it out of key and columns"
            )
        cells = [f"cast(`{one}` as {kind}) as `{one}`" for one, kind in columns.items()]
        typed = rows.selectExpr(*cells)
        if name == EACH_ONCE:  # two spellings of one value are one key only in its type
            typed = typed.distinct()
        return _with_origins(typed, key, columns, _read(events.frame, places))

    return Reference(columns, key, None, emitted, rests_on_log=False)


def _each_once(events: Events, places: Mapping[str, str]) -> Any:
    """Return every key of the input, as often as it is there."""
    read = _read(events.frame, places)
    missing = " or ".join(f"`{one}` is null" for one in places)
    without = read.where(missing)
    if (count := without.count()) and (shown := without.first()):
        raise EvidenceError(
            f"{count:,} records of the input have no {' or no '.join(places.values())}, such as"
            f" {str(shown['_value'])[:100]!r}: say under `from` where the key stands"
        )
    return read.select(*places)


def _calm(events: Events, places: Mapping[str, str]) -> Any:  # noqa: ARG001  one of `_WANTED`
    if events.calm is None:
        raise EvidenceError("there was no calm run: its output is what this one is held to")
    return events.calm


_WANTED: Mapping[str, Callable[[Events, Mapping[str, str]], Any]] = {
    EACH_ONCE: _each_once,
    CALM: _calm,
}


def _read(frame: Any, places: Mapping[str, str]) -> Any:
    """Return the events with the key that their output has."""
    from pyspark.sql import functions as F

    def cell(place: str) -> Any:
        head, _, path = place.partition(".")
        return F.get_json_object(head, f"$.{path}") if path else F.col(head)

    names = ("value", "query", "batch", "topic", "partition", "offset", "unread")
    return frame.select(
        *(cell(place).alias(name) for name, place in places.items()),
        *(F.col(one).alias(f"_{one}") for one in names),
    )


def _with_origins(rows: Any, key: tuple[str, ...], columns: Mapping[str, str], read: Any) -> Any:
    """Return the rows with the batch that has read their key first."""
    from pyspark.sql import functions as F

    typed = [F.expr(f"try_cast(`{one}` as {columns[one]})").alias(one) for one in key]
    first = F.min(F.struct("_query", *ORIGIN)).alias("_first")
    seen = read.select(*typed, "_query", *ORIGIN).groupBy(*key).agg(first)
    return rows.join(seen, list(key), "left").select(
        *columns, *(F.col(f"_first.{one}").alias(one) for one in ORIGIN)
    )
