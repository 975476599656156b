"""Cases that CI leaves out, because they show once more what one of the others shows."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def further_but(kept: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """Return the cases as parameters; those that are not kept are marked `long`."""
    found = list(cases)
    unknown = [one for one in kept if one not in found]
    assert unknown == [], f"{unknown} are no cases; write some of {found}"
    return [one if one in kept else _long(one) for one in found]


def _long(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
