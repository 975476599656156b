"""What a user's own code brings in, by `module:attribute`."""

from __future__ import annotations

import importlib
from typing import Any

from onceproof.errors import RequestError


def find_attribute(place: str, wrong: str, write: str) -> Any:
    """Return what a `module:attribute` names, or raise `RequestError`.

    `wrong` begins the sentence of the error and `write` ends it with what to write instead.
    """
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise RequestError(f"{wrong} cannot be had ({error}): write {write}") from None
