"""JSON schemas as the files in docs/schemas hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def titled(title: str) -> dict[str, Any]:
    """Return how every schema of ours begins."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}


def text_of(schema: Mapping[str, Any]) -> str:
    """Return the text of the schema's file."""
    return json.dumps(schema, indent=2) + "\n"
