"""The JSON schema of policies, made from the tables that read them.

`python -m onceproof.gates.schema docs/schemas/policy.json` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from onceproof.gates.fields import POLICY
from onceproof.schema.json_schema import text_of, titled


def policy_schema() -> dict[str, Any]:
    """Return the schema of a policy's file."""
    shape = POLICY.schema()
    one_of_two = [{"required": ["scenario"]}, {"required": ["tag"]}]
    shape["properties"]["require"]["items"] |= {"oneOf": one_of_two}
    return titled("A policy for onceproof gate") | shape


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text_of(policy_schema()), encoding="utf-8")
