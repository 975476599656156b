"""References that a scenario declares by the output's key, for jobs of users.

They do not depend on the offset log: every sent event must come out, whichever batch read it. The
log only gives the batch, so that a row can be blamed on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onceproof.errors import EvidenceError, RequestError, missing
from onceproof.naming import find_attribute
from onceproof.references import WRITE, Events, Reference, find_reference, readable
from onceproof.runs.plan import OutputPart

EACH_ONCE, CALM = "each_once", "calm"
WORDS = (EACH_ONCE, CALM)
# The batch that read a row's event first, and the event's place in the input; `_unread` is true if
# every query skipped it.
ORIGIN = ("_batch", "_topic", "_partition", "_offset", "_unread")
# Columns that the comparison ignores, as no output has them.
NOT_COMPARED = (*ORIGIN, "_attempt")
_TEXT = "string"
_WRITE = f"{', '.join(WORDS)}, or {WRITE}"


def reference_of(output: OutputPart) -> Reference:
    """Return the reference of an output, defined in a module or declared by the output's key."""
    return find_declared(output.reference, output.declared)


def find_declared(name: str, declared: Mapping[str, Any]) -> Reference:
    """Return the reference of this name, with the declared properties of the output."""
    found = _find_declared(name, declared)
    if taken := [one for one in found.columns if one in NOT_COMPARED]:
        raise RequestError(
            f"column {taken[0]} has a name that Onceproof reserves, and would not be compared;"
            " rename it in the output, or remove it from columns"
        )
    return found


def _find_declared(name: str, output: Mapping[str, Any]) -> Reference:
    if name in WORDS:
        return _declared(output, name, _WANTED[name])
    if not output:
        return find_reference(name)
    found = find_attribute(name, f"reference {name!r}", _WRITE)
    if not callable(found) or isinstance(found, type):
        kind = type(found).__name__
        raise RequestError(f"{name} is a {kind}; with a key use a function of a DataFrame")
    return _declared(output, name, lambda events, _: _called(found, events))


def _called(function: Callable[..., Any], events: Events) -> Any:
    """Return the rows of a user's function, which takes the rows of each input by its name."""
    if len(events.topics) < 2:
        return function(events.frame)
    return function(**events.by_input())


def _declared(
    output: Mapping[str, Any], name: str, wanted: Callable[[Events, Mapping[str, str]], Any]
) -> Reference:
    if not output.get("key"):
        raise RequestError(missing(f"the key of the output for {name}", "key: [order_id]"))
    key, typed = tuple(output["key"]), output.get("columns", {})
    columns = {**{one: typed.get(one, _TEXT) for one in key}, **typed}
    if name == EACH_ONCE and (beyond := [one for one in columns if one not in key]):
        raise RequestError(
            f"{name} has only the key, but columns has {', '.join(beyond)}; remove that, or use a"
            " function of a DataFrame"
        )
    places = {one: output.get("from", {}).get(one, f"value.{one}") for one in key}

    def emitted(events: Events) -> Any:
        rows = wanted(events, places)
        if absent := [one for one in columns if one not in rows.columns]:
            raise EvidenceError(
                f"{name} returns {', '.join(rows.columns)} without column {absent[0]}; add it to"
                " the rows, or remove it from key and columns"
            )
        cells = [f"cast(`{one}` as {kind}) as `{one}`" for one, kind in columns.items()]
        typed = rows.selectExpr(*cells)
        if name == EACH_ONCE:  # different texts may be equal values of the key's type
            typed = typed.distinct()
        several = len(events.topics) > 1
        return _with_origins(typed, key, columns, _read(events.frame, places), several=several)

    return Reference(columns, key, None, emitted, rests_on_log=False)


def _each_once(events: Events, places: Mapping[str, str]) -> Any:
    read = _read(readable(events.frame), places)
    without = read.where(" or ".join(f"`{one}` is null" for one in places))
    if (count := without.count()) and (sample := without.first()):
        raise EvidenceError(
            f"{count:,} records of the input have no {' or no '.join(places.values())}, such as"
            f" {str(sample['_value'])[:100]!r}; write the place of the key under `from`"
        )
    return read.select(*places)


def _calm(events: Events, places: Mapping[str, str]) -> Any:  # noqa: ARG001  one of `_WANTED`
    if events.calm is None:
        raise EvidenceError("there is no calm run, whose output is the reference")
    return events.calm


_WANTED: Mapping[str, Callable[[Events, Mapping[str, str]], Any]] = {
    EACH_ONCE: _each_once,
    CALM: _calm,
}


def _read(frame: Any, places: Mapping[str, str]) -> Any:
    """Return the events with the columns of the output's key."""
    from pyspark.sql import functions as F

    def cell(place: str) -> Any:
        head, _, path = place.partition(".")
        return F.get_json_object(head, f"$.{path}") if path else F.col(head)

    names = ("value", "query", "batch", "topic", "partition", "offset", "unread")
    return frame.select(
        *(cell(place).alias(name) for name, place in places.items()),
        *(F.col(one).alias(f"_{one}") for one in names),
    )


def _with_origins(
    rows: Any, key: tuple[str, ...], columns: Mapping[str, str], read: Any, *, several: bool
) -> Any:
    """Return the rows with the first batch that read their key.

    Of several inputs it is the batch that first had the key in each: it could emit the row.
    """
    from pyspark.sql import functions as F

    typed = [F.expr(f"try_cast(`{one}` as {columns[one]})").alias(one) for one in key]
    first = F.min(F.struct("_query", *ORIGIN)).alias("_first")
    read = read.select(*typed, "_query", *ORIGIN)
    if several:
        by_topic = read.groupBy(*key, F.col("_topic").alias("_of")).agg(first)
        seen = by_topic.groupBy(*key).agg(F.max("_first").alias("_first"))
    else:
        seen = read.groupBy(*key).agg(first)
    return rows.join(seen, list(key), "left").select(
        *columns, *(F.col(f"_first.{one}").alias(one) for one in ORIGIN)
    )
