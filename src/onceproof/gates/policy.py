"""A gate's policy: which scenarios must have passed, how often, and how lately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.gates.demands import Demands, demands_of
from onceproof.gates.fields import ALLOW, POLICY
from onceproof.scenario import Scenario, find_scenario, load_catalogue
from onceproof.scenario.catalogue import with_tag
from onceproof.schema.kinds import read_fields
from onceproof.schema.values import BAD, Item, Page, compose

_AS_GIVEN = ("passes", "seeds", "landed", "effect", "runs", "rate", "flaky")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True)
class Need:
    """The requirements on one scenario: on its newest `passes` runs, and on all of them together.

    `landed` counts faults with this `effect` or a greater one. Of its newest `runs` the share
    `rate` must be as claimed, and none may be `flaky` if that is refused. Only runs whose plan has
    the scenario's `demands` count.
    """

    scenario: str
    passes: int = 1
    seeds: int = 1
    max_age: timedelta | None = None
    landed: int = 0
    effect: str = ""
    runs: int = 20
    rate: float = 0.0
    flaky: str = ALLOW
    demands: Demands | None = field(default=None, compare=False)

    @property
    def looks_back(self) -> bool:
        """Whether more than the newest passing runs are required."""
        return self.rate > 0 or self.flaky != ALLOW

    @property
    def looks_at(self) -> int:
        """The number of newest runs that a gate looks at."""
        return max(self.passes, self.runs) if self.looks_back else self.passes


@dataclass(frozen=True)
class Policy:
    """The requirements of a gate; tags are replaced by the scenarios that have them."""

    needs: tuple[Need, ...]
    known_issues: tuple[int | str, ...] = ()


def read_policy(path: Path) -> Policy:
    """Return a file's policy; raise `RequestError` with each mistake and its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{path} cannot be read: {error}; write a policy there") from None
    return read_text(text, str(path))


def read_text(text: str, file: str) -> Policy:
    """Return the policy in a file's text."""
    root = compose(text, Page(file), "what the gate requires; see docs/gate/policy.md")
    if (items := root.fields()) is None:
        root.page.check()
        raise RequestError(f"{file} has no policy; see docs/gate/policy.md")
    values = read_fields(root, items, POLICY)
    needs: list[Need] = []
    if values["require"] is not BAD:
        catalogue = load_catalogue()
        for number, need in enumerate(values["require"]):
            needs += _needs(items["require"].find(number), need, catalogue)
    root.page.check()
    return Policy(tuple(needs), values["known_issues"])


def _needs(item: Item, given: Mapping[str, Any], catalogue: list[Scenario]) -> list[Need]:
    if ("scenario" in given) == ("tag" in given):
        item.refuse("needs either scenario or tag; write scenario: NAME or tag: TAG")
        return []
    if given["seeds"] > given["passes"]:
        problem = f"{given['passes']} runs cannot have {given['seeds']} seeds"
        item.find("seeds").refuse(f"{problem}; write passes: {given['seeds']} or more")
    if "effect" in given and not given["landed"]:
        item.find("effect").refuse("landed is 0, so no effect is counted; write landed: 1 or more")
    found = _found(item, given, catalogue)
    values = {name: given[name] for name in _AS_GIVEN if name in given}
    age = _age(given.get("max_age"))
    return [Need(one.name, max_age=age, demands=demands_of(one), **values) for one in found]


def _found(item: Item, given: Mapping[str, Any], catalogue: list[Scenario]) -> list[Scenario]:
    try:
        if "tag" in given:
            return with_tag(given["tag"], catalogue)
        known = [one for one in catalogue if one.name == given["scenario"]]
        return known or [find_scenario(given["scenario"])]
    except RequestError as error:
        item.find("tag" if "tag" in given else "scenario").refuse(str(error))
        return []


def _age(text: str | None) -> timedelta | None:
    return timedelta(**{_UNITS[text[-1]]: int(text[:-1])}) if text else None
