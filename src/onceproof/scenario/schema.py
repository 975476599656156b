"""The JSON schema of scenario files, made from the tables that read them.

`python -m onceproof.scenario.schema docs/schemas/scenario.json` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from onceproof.scenario.fields import OURS, SCENARIO, SEVERAL, WORKLOAD
from onceproof.schema.json_schema import text_of, titled
from onceproof.schema.kinds import ELEMENT, property_of
from onceproof.workloads import SENDING, WORKLOADS


def file_schema() -> dict[str, Any]:
    """Return the schema of a file: one scenario, or several with their defaults."""
    fields = SCENARIO.schema()
    fields["properties"]["workload"] |= _workload()
    fields["properties"]["inputs"] |= {"additionalProperties": _workload()}
    fields["properties"]["queries"] = property_of(SEVERAL.fields["queries"])
    fields["properties"]["pipeline"]["anyOf"].append(SEVERAL.fields["pipeline"].kind.schema())
    fields["required"].remove("sink")
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
        "else": fields | {"oneOf": [{"required": ["sink"]}, {"required": ["queries"]}]},
        "$defs": each,
    }


def _workload() -> dict[str, Any]:
    """Return the catalogue's workloads with their options; a user's may have any."""
    shape = WORKLOAD.schema()
    theirs = {"type": "object", "required": ["name"], "properties": {"name": ELEMENT.schema()}}
    ours = {"enum": list(OURS), "default": OURS[0]}
    return {
        "if": theirs,
        "then": {"type": "object"},
        "else": {
            "additionalProperties": False,
            "properties": shape["properties"] | {"name": ours} | _options(),
        },
        "additionalProperties": True,
    }


def _options() -> dict[str, Any]:
    """Return the options of all workloads; of each the part that is the same in all of them."""
    found: dict[str, Any] = {}
    for workload in WORKLOADS:
        for name, option in {**SENDING, **workload.options}.items():
            one = property_of(option)
            other = found.get(name, one)
            found[name] = {key: value for key, value in one.items() if other.get(key) == value}
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text_of(file_schema()), encoding="utf-8")
