"""Page views: one event per view, keyed by the viewed app, with an amount.

Event time grows evenly from a fixed start, with three disturbances: every event may be a little
out of order (`jitter_ms`), a share of them is much too late (`late`, `late_by_ms`), and a share is
sent a second time, up to a hundred records later (`redelivered`). A share may be awkward.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.schema.kinds import Field, number, whole
from onceproof.workloads import awkward
from onceproof.workloads.awkward import awkward_events

START_MS = 1_700_000_000_000
_DAY_MS = 24 * 60 * 60 * 1000
_SHARE = number(0, 1)
OPTIONS: Mapping[str, Field] = {
    "keys": Field(whole(1, 1_000_000), "number of apps", 100),
    "skew": Field(number(0, 5), "unevenness of the keys; 0: even", 1.0),
    "span_ms": Field(
        whole(1, 365 * _DAY_MS), "the event time over which a producer's events are spread", 60_000
    ),
    "jitter_ms": Field(whole(0, _DAY_MS), "largest shift of an event back in time", 500),
    "late": Field(_SHARE, "share of the events that are late", 0.0),
    "late_by_ms": Field(whole(0, _DAY_MS), "shift of a late event back in time", 20_000),
    "redelivered": Field(_SHARE, "share of the events that is sent a second time", 0.0),
    "awkward": awkward.OPTION,
}
# The ways in which a view may be awkward. Its event time and the fields of its value are not null.
_NAMES = tuple(name for name in awkward.NAMES if name != awkward.NULL)
_APPS = ("", awkward.HUGE, *awkward.TEXTS)
_APPS_OF = {
    awkward.EMPTY_TEXT: (0,),
    awkward.HUGE_TEXT: (1,),
    awkward.UNICODE: range(2, len(_APPS)),
}
# Generated at once; another number would give other events for the same seed.
_CHUNK = 20_000
_AGAIN_WITHIN = 100
_MOST = 100


def events(options: Mapping[str, Any], seed: int, producer: int) -> Iterator[Any]:
    """Yield the events of one producer, in the order of sending."""
    import numpy

    count, producers = options["events"], options["producers"]
    first, end = (count * number // producers for number in (producer, producer + 1))
    rng = numpy.random.default_rng([abs(seed), seed < 0, producer])
    maker = _Maker(options, seed, producer, first, end, rng)
    seen = numpy.zeros(options["keys"] + len(_APPS), dtype=numpy.int64)
    weights = 1.0 / numpy.arange(1, options["keys"] + 1, dtype=float) ** options["skew"]
    bounds = numpy.cumsum(weights / weights.sum())
    for begin in range(first, end, _CHUNK):
        yield maker.chunk(begin, min(begin + _CHUNK, end), seen, bounds)


@dataclass(frozen=True)
class _Maker:
    options: Mapping[str, Any]
    seed: int
    producer: int
    first: int
    end: int
    rng: Any

    def chunk(self, begin: int, end: int, seen: Any, bounds: Any) -> Any:
        """Return the events with these ids, including redeliveries."""
        import numpy
        import pyarrow

        ids = numpy.arange(begin, end)
        keys = numpy.minimum(numpy.searchsorted(bounds, self.rng.random(ids.size)), bounds.size - 1)
        times = self._times(ids)
        amounts = self.rng.integers(1, _MOST, ids.size, endpoint=True)
        names = self._disturb(ids, keys, times, amounts)
        columns = {"id": ids, "seq": _count_on(keys, seen), "event_ms": times, "amount": amounts}
        resent = self._some("redelivered", begin, end)
        after = resent + self.rng.integers(1, _AGAIN_WITHIN, resent.size, endpoint=True) + 0.5
        order = numpy.argsort(numpy.concatenate([ids - begin, after]), kind="stable")
        rows = numpy.concatenate([ids - begin, resent])[order]
        arrays = {name: pyarrow.array(column[rows]) for name, column in columns.items()}
        arrays["producer"] = pyarrow.array(numpy.full(rows.size, self.producer, dtype=numpy.int32))
        arrays["key"] = _names(keys[rows], bounds.size)
        kinds = pyarrow.array(["event", "redelivery"])
        arrays["kind"] = kinds.take(pyarrow.array((order >= ids.size).astype(numpy.int8)))
        if names is not None:
            arrays["awkward"] = names.take(pyarrow.array(rows))
        return pyarrow.table(arrays)

    def _disturb(self, ids: Any, keys: Any, times: Any, amounts: Any) -> Any:
        """Make a share of the events awkward, in place; return what each is, null for the rest."""
        import pyarrow

        share, begin = self.options.get("awkward"), int(ids[0])
        if not share:
            return None
        names: list[str | None] = [None] * ids.size
        of = self.options["events"]
        for one in awkward_events(share, self.seed, begin, begin + ids.size, of, _NAMES):
            place = one.id - begin
            names[place] = one.name
            if one.name in _APPS_OF:
                keys[place] = self.options["keys"] + one.one_of(_APPS_OF[one.name])
            elif one.name == awkward.NUMBER:
                amounts[place] = one.one_of(awkward.NUMBERS)
            elif one.name == awkward.SAME_TIME:
                times[place] = times[awkward.neighbour(place, ids.size)]
        return pyarrow.array(names, "string")

    def _times(self, ids: Any) -> Any:
        # the events of each producer are spread over the whole span
        spread = (ids - self.first) * self.options["span_ms"] // (self.end - self.first)
        jitter = self.rng.integers(0, self.options["jitter_ms"], ids.size, endpoint=True)
        times = START_MS + spread - jitter
        times[self._some("late", int(ids[0]), int(ids[-1]) + 1)] -= self.options["late_by_ms"]
        return times

    def _some(self, share: str, begin: int, end: int) -> Any:
        """Return the places of a share of these ids; over all ids it is exact, but for rounding."""
        wanted = round(self.options[share] * end) - round(self.options[share] * begin)
        return self.rng.permutation(end - begin)[:wanted]


def _count_on(keys: Any, seen: Any) -> Any:
    """Number the events of each key, continuing and updating the counts in `seen`."""
    import numpy

    order = numpy.argsort(keys, kind="stable")
    counts = numpy.bincount(keys, minlength=seen.size)
    starts = numpy.cumsum(counts) - counts
    numbers = numpy.empty_like(keys)
    numbers[order] = numpy.arange(keys.size) - starts[keys[order]] + 1
    numbers += seen[keys]
    seen += counts
    return numbers


def _names(keys: Any, apps: int) -> Any:
    import numpy
    import pyarrow

    found, places = numpy.unique(keys, return_inverse=True)
    names = [f"app-{key:03d}" if key < apps else _APPS[key - apps] for key in found.tolist()]
    return pyarrow.array(names, "string").take(pyarrow.array(places))
