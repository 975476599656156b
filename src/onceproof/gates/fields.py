"""The fields of a policy: kind, meaning and default."""

from __future__ import annotations

from onceproof.past.entry import DEGREES
from onceproof.schema.kinds import Field, Many, Scalar, Shape, Word, number, text, whole


def _is_issue(value: object) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return is_number or (isinstance(value, str) and bool(value.strip()))


_ISSUE = Scalar(
    "the number or the name of a known issue, as in `onceproof known list`",
    _is_issue,
    {"type": ["integer", "string"], "minimum": 1, "minLength": 1},
)
ALLOW, REFUSE = "allow", "refuse"
_RATE = number(0, 1, "a share such as 0.95, a number")
_AGE = text(r"[1-9][0-9]{0,5}[mhd]", "a time such as 90m, 36h or 7d")
NEED = Shape(
    {
        "scenario": Field(
            text(r"\S+", "a scenario's name, or FILE::NAME"), "the scenario that must pass", None
        ),
        "tag": Field(
            text(r"[a-z][a-z0-9_]{0,59}", "a tag of the catalogue"),
            "in place of it: every scenario of the catalogue that has this tag",
            None,
        ),
        "passes": Field(whole(1, 1000), "this many of its newest runs must be as claimed", 1),
        "seeds": Field(whole(1, 1000), "this many different seeds among those runs", 1),
        "max_age": Field(_AGE, "those runs may not be older; left out: any age", None),
        "landed": Field(whole(), "this many faults must have struck in those runs together", 0),
        "effect": Field(
            Word(DEGREES[1:]), "`landed` counts only faults with at least this effect", None
        ),
        "runs": Field(
            whole(1, 1000), "`rate` and `flaky` look at this many of its newest runs", 20
        ),
        "rate": Field(_RATE, "this share of those must be as claimed; left out: any", None),
        "flaky": Field(
            Word((ALLOW, REFUSE)),
            "refuse: no run may be UNKNOWN, and no seed may have both results",
            ALLOW,
        ),
    }
)
POLICY = Shape(
    {
        "require": Field(
            Many(NEED, "is empty; a gate that requires nothing is always open"),
            "what must have passed",
        ),
        "known_issues": Field(Many(_ISSUE), "known issues that are accepted", ()),
    }
)
