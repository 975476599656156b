"""Shrinks a failing run to a smaller plan that fails in the same way: fewer faults, less input.

Each candidate is run. It fails in the same way if it has the same verdict, from the same checkers,
with the same forbidden classes; a candidate whose fault did not strike does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onceproof.documents import field, read_object
from onceproof.errors import EvidenceError, RequestError
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.scenario.fields import LONGEST_NAME
from onceproof.scenario.model import Fields, fields_of

LEAST_EVENTS = 100
_REQUIRED = {"verdict": str, "seed": int, "allowed": list, "findings": list, "differences": dict}
_SHRUNK = "_shrunk"
Live = Callable[[Fields, int], Mapping[str, Any]]
Say = Callable[[str], None]
Way = tuple[str, frozenset[str], frozenset[str]]


@dataclass
class Shrinking:
    """A search over plans; `live` runs one with a seed, and returns its verdict document.

    Candidates have other names than the run: they are weaker, so they prove nothing about it.
    """

    name: str
    way: Way
    seed: int
    live: Live
    say: Say
    left: int

    def smaller(self, fields: Fields) -> Fields:
        """Return the smallest plan found that fails in the same way."""
        return self._less_input(self._fewer_faults(fields))

    def _fewer_faults(self, fields: Fields) -> Fields:
        """Try no fault, then each fault alone, then remove faults one by one."""
        faults = list(fields["faults"])
        if faults and self._fails(none := self._less(fields, faults=[])):
            return none
        if len(faults) > 1:
            for one in faults:
                if self._fails(alone := self._less(fields, faults=[one])):
                    return alone
        for one in faults:
            rest = [other for other in fields["faults"] if other is not one]
            if rest and len(faults) > 2 and self._fails(fewer := self._less(fields, faults=rest)):
                fields = fewer
        return fields

    def _less_input(self, fields: Fields) -> Fields:
        """Halve the number of events as long as the run fails in the same way."""
        while (events := fields["workload"]["events"] // 2) >= LEAST_EVENTS:
            less = self._less(fields, workload=fields["workload"] | {"events": events})
            if not self._fails(less):
                break
            fields = less
        return fields

    def _less(self, fields: Fields, **changes: Any) -> Fields:
        """Return a candidate with changed fields and a name that ends in `_shrunk`."""
        less = fields | changes
        pipeline, sink, fault = self.name.split("__", 2)
        name = f"{pipeline}__{sink}__{fault if less['faults'] else 'calm'}"
        return less | {"name": name[: LONGEST_NAME - len(_SHRUNK)].rstrip("_") + _SHRUNK}

    def _fails(self, fields: Fields) -> bool:
        if not self.left:
            return False
        self.left -= 1
        size = f"{len(fields['faults'])} fault(s), {fields['workload']['events']:,} events"
        try:
            is_same = way_of(self.live(fields, self.seed)) == self.way
        except RequestError as error:
            self.say(f"{size}: invalid scenario: {error}")
            return False
        self.say(f"{size}: {'fails in the same way' if is_same else 'does not'}")
        return is_same


def way_of(document: Mapping[str, Any]) -> Way:
    """Return the way in which a run fails, from its verdict document."""
    grade = document["verdict"]
    allowed = set(document["allowed"])
    checkers = (one["checker"] for one in document["findings"] if one["verdict"] == grade)
    broken = (name for name, rows in document["differences"].items() if rows)
    return grade, frozenset(checkers), frozenset(set(broken) - allowed)


def shrink(run: RunDirectory, live: Live, say: Say, at_most: int) -> tuple[Fields, bool]:
    """Return the fields of the smallest scenario that fails as a run did, and if it is smaller.

    At most `at_most` candidates are run.
    """
    try:
        plan, document = Plan.read(run.plan), read_object(run.verdict)
        for name, kind in _REQUIRED.items():
            field(document, name, kind, "the verdict")
    except EvidenceError as error:
        raise RequestError(f"cannot shrink {run.root}: {error}") from None
    fields = fields_of(plan)
    if document["verdict"] == "PASS":
        raise RequestError(f"{run.root} passed: it has no failure to keep; use a run that failed")
    search = Shrinking(fields["name"], way_of(document), document["seed"], live, say, at_most)
    found = search.smaller(fields)
    return found, found != fields
