"""The registry of mechanisms, and lookups over all of them."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from typing import Any

from onceproof.errors import RequestError, unknown
from onceproof.faults import Draw, Ends, Mechanism
from onceproof.faults.targets import TARGETS
from onceproof.schema.kinds import Field

# In the order of lookup.
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
    """Return the mechanism for a fault, or None."""
    return next((one for one in MECHANISMS if one.takes(verb, target)), None)


def find_mechanism(verb: str, target: str) -> Mechanism:
    """Return the mechanism for a fault, or raise `RequestError` with the verbs or the targets."""
    if found := mechanism_of(verb, target):
        return found
    if able := {word for one in MECHANISMS for word in one.verbs if one.takes(word, target)}:
        raise RequestError(unknown(f"verb for {target}", verb, able))
    targets = {
        f"{word}NAME" if word.endswith(":") else word
        for one in MECHANISMS
        if verb in one.verbs
        for word in one.targets
    }
    raise RequestError(
        unknown(f"target for {verb}", target, targets)
        if targets
        else unknown("verb", verb, verbs())
    )


def ends_of(verb: str, target: str) -> Ends:
    """Return what a fault ends; an unknown fault ends nothing."""
    found = mechanism_of(verb, target)
    return found.ends.get(target, Ends.NOTHING) if found else Ends.NOTHING


def verbs() -> tuple[str, ...]:
    """Return every verb."""
    return tuple(dict.fromkeys(verb for one in MECHANISMS for verb in one.verbs))


def all_targets() -> dict[str, str]:
    """Return the targets that a scenario may name, with their descriptions."""
    return dict(TARGETS) | {name: text for one in MECHANISMS for name, text in one.words.items()}


def options() -> dict[str, Field]:
    """Return the options allowed under `how`, those of most verbs first."""
    taken = [pair for one in MECHANISMS for own in one.how.values() for pair in own.items()]
    fields = dict(taken)
    return {name: fields[name] for name, _ in Counter(name for name, _ in taken).most_common()}


def draws() -> list[Draw]:
    """Return the faults that may be drawn at random, in an order independent of the registry's."""
    return sorted((one for each in MECHANISMS for one in each.draws), key=lambda one: one.order)


def find_target(text: Any) -> tuple[str, int | None] | None:
    """Return the pattern of targets that a text matches, and its number; None without a match."""
    for pattern in all_targets():
        head, sign, _ = pattern.partition("<")
        found = re.fullmatch(re.escape(head) + (r"(\d{1,9})" if sign else ""), str(text))
        if found:
            return pattern, int(found[1]) if sign else None
    return None


def target_words(text: str) -> str:
    """Return the description of a target."""
    pattern, number = find_target(text) or (text, None)
    return all_targets().get(pattern, text).format(number=number)


def proof_words(verb: str, target: str) -> str:
    """Return the description of a fault's proof."""
    if not (found := mechanism_of(verb, target)):
        return "the value that the verb returns"
    added = (text for head, text in found.also.items() if target.startswith(head))
    return found.verbs[verb] + next(added, "")
