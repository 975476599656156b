"""Every mechanism, and what all of them say together."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from typing import Any

from onceproof.errors import RequestError
from onceproof.faults import Draw, Ends, Mechanism
from onceproof.faults.targets import TARGETS
from onceproof.schema.kinds import Field

# In the order in which they are asked.
MECHANISMS: tuple[Mechanism, ...] = tuple(
    getattr(import_module(f"onceproof.faults.{module}"), name)
    for module, name in (
        ("kill_driver", "MECHANISM"),
        ("kill_driver", "STOP"),
        ("kill_executor", "MECHANISM"),
        ("kill_task", "MECHANISM"),
        ("pause_job", "DRIVER"),
        ("pause_job", "EXECUTOR"),
        ("fail_step", "MECHANISM"),
        ("start_rival", "MECHANISM"),
        ("hijack", "MECHANISM"),
        ("strike_brokers", "MECHANISM"),
        ("strike_brokers", "RESTART"),
        ("damage_checkpoint", "LOSE"),
        ("damage_checkpoint", "DAMAGE"),
        ("rescale_job", "MECHANISM"),
        ("fill_disk", "MECHANISM"),
        ("strike_input", "ABORT"),
        ("strike_input", "EXPIRE"),
        ("strike_input", "GROW"),
        ("strike_input", "RECREATE"),
        ("disturb_links", "MECHANISM"),
        ("strike_member", "MECHANISM"),
    )
)


def mechanism_of(verb: str, target: str) -> Mechanism | None:
    """Return the mechanism for a fault, None if there is none."""
    return next((one for one in MECHANISMS if one.takes(verb, target)), None)


def find_mechanism(verb: str, target: str) -> Mechanism:
    """Return the mechanism for a fault, or raise `RequestError` with what there is."""
    if found := mechanism_of(verb, target):
        return found
    known = "; ".join(f"{', '.join(one.verbs)} of {', '.join(one.targets)}" for one in MECHANISMS)
    raise RequestError(f"there is no fault that can {verb} {target}: there are {known}")


def ends_of(verb: str, target: str) -> Ends:
    """Return what a fault ends; a fault that no mechanism can do ends nothing."""
    found = mechanism_of(verb, target)
    return found.ends.get(target, Ends.NOTHING) if found else Ends.NOTHING


def verbs() -> tuple[str, ...]:
    """Return every verb."""
    return tuple(dict.fromkeys(verb for one in MECHANISMS for verb in one.verbs))


def all_targets() -> dict[str, str]:
    """Return the targets that a scenario may name, with words for people."""
    return dict(TARGETS) | {name: said for one in MECHANISMS for name, said in one.words.items()}


def options() -> dict[str, Field]:
    """Return what may stand under `how`; names that more verbs take come first."""
    taken = [pair for one in MECHANISMS for own in one.how.values() for pair in own.items()]
    known = dict(taken)
    return {name: known[name] for name, _ in Counter(name for name, _ in taken).most_common()}


def draws() -> list[Draw]:
    """Return what may be drawn at random, in an order that the registry's does not change."""
    return sorted((one for each in MECHANISMS for one in each.draws), key=lambda one: one.order)


def find_target(text: Any) -> tuple[str, int | None] | None:
    """Return the pattern of a target that a text fits, and its number; None if there is none."""
    for pattern in all_targets():
        head, sign, _ = pattern.partition("<")
        found = re.fullmatch(re.escape(head) + (r"(\d{1,9})" if sign else ""), str(text))
        if found:
            return pattern, int(found[1]) if sign else None
    return None


def say_target(text: str) -> str:
    """Return a target as words."""
    pattern, number = find_target(text) or (text, None)
    return all_targets().get(pattern, text).format(number=number)


def say_proof(verb: str, target: str) -> str:
    """Return what proves that a fault took hold."""
    if not (found := mechanism_of(verb, target)):
        return "what the verb returns"
    added = (said for head, said in found.also.items() if target.startswith(head))
    return found.verbs[verb] + next(added, "")
