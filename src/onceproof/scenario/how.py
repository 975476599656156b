"""How a fault is done, where its verb leaves that open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.errors import RequestError
from onceproof.faults import ATTEMPT_ENDS, find_mechanism
from onceproof.scenario.draft import Draft
from onceproof.scenario.kinds import Field, Shape
from onceproof.scenario.scalars import Word, text, whole
from onceproof.stacks.links import WAYS
from onceproof.stacks.links.verbs import SOURCES

HOW = Shape(
    {
        "from": Field(
            text(rf"{'|'.join(SOURCES)}|broker:[0-9]+", f"one of {', '.join(SOURCES)}, broker:1"),
            "of links: who is kept from the target; left out: anyone",
            None,
        ),
        "until": Field(
            Word((ATTEMPT_ENDS,)),
            "of links: how long; left out: until the job commits in spite of it, 5 s at most",
            None,
        ),
        "executors": Field(
            whole(1, 4), "of rescale: how many; left out: 1, or 2 where it has 1", None
        ),
        "partitions": Field(whole(2, 1000), "of grow: how many then; left out: twice", None),
        "ms": Field(whole(1, 60_000), "of delay: milliseconds each way; left out: 300", None),
        "kbytes": Field(whole(1), "of rate: kilobytes a second; left out: 100", None),
        "way": Field(
            Word(("both", *WAYS)), "of blackhole: what is swallowed; left out: both", None
        ),
    }
)


_FIRST = "store:postmaster"
# Of the sources of links, those that connect to brokers alone.
_OF_BROKERS = ("brokers", "producer")


def check_mechanism(draft: Draft, number: int, fault: Mapping[str, Any]) -> None:
    """There is a mechanism for a fault, and it takes what stands under `how`."""
    verb = fault["do"]
    try:
        known = find_mechanism(verb, fault["target"]).how.get(verb, ())
    except RequestError as error:
        draft.refuse(str(error), "faults", number, "target")
        return
    if (verb, fault["target"]) == ("stop", _FIRST):
        said = f"{_FIRST} cannot be stopped alone: write do: kill or do: pause, or target: store"
        draft.refuse(said, "faults", number, "target")
    _check_values(draft, number, fault)
    for strange in fault["how"].keys() - set(known):
        takes = f"takes {', '.join(known)} under how" if known else "takes nothing under how"
        draft.refuse(f"{verb} {takes}: leave it out", "faults", number, "how", strange)


def _check_values(draft: Draft, number: int, fault: Mapping[str, Any]) -> None:
    """What stands under `how` can be had: a link that there is, more partitions than there are."""
    how = fault["how"]
    who, wanted = how.get("from", ""), how.get("partitions")
    if fault["target"] == "store" and (who in _OF_BROKERS or who.startswith("broker:")):
        others = ", ".join(one for one in SOURCES if one not in _OF_BROKERS)
        said = f"{who!r} never connects to the store: write one of {others}"
        draft.refuse(said, "faults", number, "how", "from")
    has = draft.values["workload"]["partitions"]
    if fault["do"] == "grow" and wanted is not None and wanted <= has:
        said = f"the input has {has} partitions already, so {wanted} is no growth: write {has + 1}"
        draft.refuse(f"{said} or more", "faults", number, "how", "partitions")
