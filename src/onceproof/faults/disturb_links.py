"""Cuts, slows or blackholes the links between a member and its clients.

`from` is the client: anyone, `brokers`, `clients`, `driver`, `executor`, `producer`, or a broker by
its name; driver and executors are those of this run. A blackhole may be one-way: `way: requests`
swallows what clients send, `way: answers` what they are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from onceproof.faults import ATTEMPT_ENDS, Mechanism, Need, Proof, Scene, Setting
from onceproof.faults.checks import Case, Check, fits, whole
from onceproof.faults.needs import TRANSACTIONS
from onceproof.faults.strike_member import run_target
from onceproof.runs.plan import FaultPart
from onceproof.schema import kinds
from onceproof.stacks.links import ANYONE, DEEDS, WAYS, Counts, Rule
from onceproof.stacks.links.verbs import ALL, SOURCES, disturb, pairs_of
from onceproof.stacks.links.verbs import heal as heal_links

_OF_THE_RUN = ("driver", "executor")
_OF_BROKERS = ("brokers", "producer")  # the sources that connect to brokers alone
# The options of each verb under `how`, in addition to `from`, with their defaults.
HOW: Mapping[str, Mapping[str, Any]] = {
    "cut": {},
    "delay": {"ms": 300},
    "rate": {"kbytes": 100},
    "blackhole": {"way": "both"},
}


def strike(fault: FaultPart, scene: Scene) -> Proof:
    """Put the rule in force; the proof is the links' counts, once they are above 0.

    A process at the failpoint goes on as soon as the rule is in force: only a running process can
    use the link.
    """
    rule, source = _rule(fault.verb, fault.name, fault.how, scene.plan.run)
    let_go = scene.point.let_go if scene.point else lambda: None
    return disturb(scene.stack, rule, run_target(fault, scene), source, scene.rng, let_go)


def _rule(verb: str, fault: str, options: Mapping[str, Any], run: str) -> tuple[Rule, str]:
    """Return the rule of a fault, without its pairs, and the source that it disturbs."""
    how = {**HOW[verb], **options}
    how.pop("until", None)
    source, way = how.pop("from", ANYONE), how.pop("way", "both")
    if source in _OF_THE_RUN:
        source = f"{source}={run}"
    (do,) = (deed for deed in DEEDS if deed == verb)
    return Rule(f"{run}/{fault}", do, (), WAYS if way == "both" else (way,), **how), source


def heal(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:  # noqa: ARG001  the contract
    """Remove the rule; the proof is the counts of its links."""
    healed = heal_links(scene.stack, [proof["rule"]["name"]])
    return {"counts": healed[0]["counts"] if healed else {}, "changed": bool(healed)}


def _is_the_planned_rule(case: Case) -> bool:
    wanted, source = _rule(case.fault.verb, case.fault.name, case.fault.how, case.run)
    rule, members = case.proof["rule"], case.proof["members"]
    ends = {*members, *(end for pair in rule["pairs"] for end in pair)}
    brokers = sorted(one for one in ends if fits(one, "broker:any"))
    pairs = dict.fromkeys(pair for one in members for pair in pairs_of(one, source, brokers))
    filled_in = {"pairs": [*map(list, pairs)], "ways": list(wanted.ways)}
    return bool(pairs) and asdict(wanted) | filled_in == rule


def _are_of_the_target(case: Case) -> bool:
    members = case.proof["members"]
    is_all = case.fault.target == ALL
    return (is_all or len(members) == 1) and all(fits(one, case.fault.target) for one in members)


def _counts(found: Mapping[str, Any], verb: str) -> int:
    if found.keys() != {one.name for one in fields(Counts)}:
        raise ValueError(f"{found} are not the counts of a link")
    return sum(whole(found[name]) for name in _FELT[verb])


def _were_still_felt(case: Case) -> bool:
    before, after = case.proof["counts"], case.cure["counts"]
    has_grown = all(whole(after[name]) >= count for name, count in before.items())
    return case.cure["changed"] is True and has_grown


_FELT = {
    "cut": ("refused", "reset"),
    "delay": ("held_bytes",),
    "rate": ("held_bytes",),
    "blackhole": ("swallowed_bytes",),
}
_PROVES = (
    Check("`members` are those that the target names", _are_of_the_target),
    Check("`rule` is the planned one, on the links of `members`", _is_the_planned_rule),
    Check(
        "`counts` are above 0: `refused` plus `reset` for cut, `held_bytes` for delay and rate,"
        " `swallowed_bytes` for blackhole",
        lambda case: _counts(case.proof["counts"], case.fault.verb) > 0,
    ),
)
_CURES = (Check("the rule was removed, and no count in `counts` decreased", _were_still_felt),)


def _never_connects(one: Setting) -> str:
    source = one.how.get("from", "")
    if one.target != "store" or not (source in _OF_BROKERS or source.startswith("broker:")):
        return ""
    others = ", ".join(name for name in SOURCES if name not in _OF_BROKERS)
    return f"{source!r} never connects to the store; use one of {others}"


_OPTIONS = {
    "from": kinds.Field(
        kinds.text(rf"{'|'.join(SOURCES)}|broker:[0-9]+", f"one of {', '.join(SOURCES)}, broker:1"),
        "of links: the client to disturb; default: anyone",
        None,
    ),
    "until": kinds.Field(
        kinds.Word((ATTEMPT_ENDS,)),
        "of links: how long; default: until the job's next commit, at most 5 s",
        None,
    ),
    "ms": kinds.Field(
        kinds.whole(1, 60_000), "of delay: milliseconds each way; default: 300", None
    ),
    "kbytes": kinds.Field(kinds.whole(1), "of rate: kilobytes a second; default: 100", None),
    "way": kinds.Field(
        kinds.Word(("both", *WAYS)), "of blackhole: the direction swallowed; default: both", None
    ),
}
_WORDS = {
    "cut": "connections that the links reset or refused",
    "delay": "bytes that the links held back",
    "rate": "bytes that the links held back",
    "blackhole": "bytes that the links swallowed",
}
MECHANISM = Mechanism(
    _WORDS,
    ("broker:", "store"),
    strike,
    _PROVES,
    heal,
    _CURES,
    how={verb: {one: _OPTIONS[one] for one in ("from", "until", *HOW[verb])} for verb in DEEDS},
    needs=(*TRANSACTIONS, Need(("how", "from"), _never_connects)),
    on_links=True,
)
