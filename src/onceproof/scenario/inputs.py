"""The inputs of a scenario under construction: the workload of each."""

from __future__ import annotations

import re

from onceproof.errors import invalid, unknown
from onceproof.naming import located
from onceproof.runs.plan import InputPart
from onceproof.scenario.draft import Draft
from onceproof.scenario.fields import WORKLOAD
from onceproof.scenario.model import INPUT, Fields
from onceproof.schema.values import Item
from onceproof.workloads import find_workload

_NAMED = re.compile("[a-z][a-z0-9_]{0,29}")


def read_inputs(draft: Draft) -> tuple[InputPart, ...] | None:
    """Return the inputs; None, with complaints noted, if one of them has mistakes."""
    if not draft.has("workload", "inputs"):
        return None
    if "inputs" not in draft.items:
        owner = draft.items.get("workload", draft.owner)
        one = _input(draft, INPUT, draft.values["workload"], owner, "workload")
        return None if one is None else (one,)
    if "workload" in draft.items:
        draft.refuse("is the short form of one input; write it under inputs", "workload")
    given = draft.values["inputs"]
    if not given:
        draft.refuse("is empty; write the workload of each input", "inputs")
    for name in (one for one in given if not _NAMED.fullmatch(one)):
        message = invalid("name", name, "at most 30 lower-case letters, digits and _")
        draft.refuse(message, "inputs", name)
    found = [
        _input(draft, name, values, draft.items["inputs"].find(name), "inputs", name)
        for name, values in given.items()
    ]
    _check_follows(draft, found)
    return None if None in found else tuple(one for one in found if one)


def _check_follows(draft: Draft, found: list[InputPart | None]) -> None:
    """Check that each input that follows another one is below it."""
    above: list[str] = []
    for one in found:
        name = one.options.get("follows") if one else None
        if one and name is not None and name not in above:
            message = f"{unknown('input', name, above)}; write it above {one.name}"
            draft.refuse(message, "inputs", one.name, "follows")
        above += [one.name] if one else []


def _input(draft: Draft, name: str, values: Fields, owner: Item, *path: str) -> InputPart | None:
    kind = located(values["name"], draft.folder)
    workload = draft.attempt(lambda: find_workload(kind), kind, *path, "name")
    if not workload:
        return None
    given = (owner.fields() or {}) if path[0] in draft.items else {}
    own = {one: item for one, item in given.items() if one not in WORKLOAD.fields}
    if (options := workload.read(owner, own)) is None:
        return None
    pinned = draft.attempt(lambda: workload.pinned(options, draft.folder), kind, *path)
    return None if pinned is None else InputPart(name, kind, "", values["partitions"], pinned)
