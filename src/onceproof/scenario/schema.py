"""The JSON schema of scenario files, made from the tables that read them.

`python -m onceproof.scenario.schema docs/schemas/scenario.json` writes it anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from onceproof.scenario.fields import OURS, SCENARIO, WORKLOAD
from onceproof.schema.json_schema import text_of, titled
from onceproof.schema.scalars import ELEMENT
from onceproof.workloads import SENDING, WORKLOADS
from onceproof.workloads.options import Fields, Number, Option, Whole


def file_schema() -> dict[str, Any]:
    """Return the schema of a file: one scenario, or several with their defaults."""
    fields = SCENARIO.schema()
    fields["properties"]["workload"] |= _workload()
    each = fields["properties"]
    fields["properties"] = {name: {"$ref": f"#/$defs/{name}"} for name in each}
    shared = {name: one for name, one in fields["properties"].items() if name != "name"}
    several = {
        "type": "object",
        "required": ["scenarios"],
        "additionalProperties": False,
        "properties": {
            "defaults": fields | {"required": [], "properties": shared},
            "scenarios": {
                "type": "array",
                "minItems": 1,
                "items": fields | {"required": ["name"]},
            },
        },
    }
    return {
        **titled("A file of scenarios for onceproof"),
        "if": {"type": "object", "required": ["scenarios"]},
        "then": several,
        "else": fields,
        "$defs": each,
    }


def _workload() -> dict[str, Any]:
    """Return a workload of ours with its options; of somebody else's anything is taken."""
    shape = WORKLOAD.schema()
    known = {name: one for ours in WORKLOADS for name, one in {**SENDING, **ours.options}.items()}
    options = {name: _option(one) for name, one in known.items()}
    theirs = {"type": "object", "required": ["name"], "properties": {"name": ELEMENT.schema()}}
    ours = {"enum": list(OURS), "default": OURS[0]}
    return {
        "if": theirs,
        "then": {"type": "object"},
        "else": {
            "additionalProperties": False,
            "properties": shape["properties"] | {"name": ours} | options,
        },
        "additionalProperties": True,
    }


def _option(option: Option) -> dict[str, Any]:
    if isinstance(option, Whole):
        return {"type": "integer", "minimum": option.least, "maximum": option.most}
    if isinstance(option, Number):
        return {"type": "number", "minimum": 0, "maximum": option.most}
    return {"type": "object"} if isinstance(option, Fields) else {"type": "string"}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text_of(file_schema()), encoding="utf-8")
