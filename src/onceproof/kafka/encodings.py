"""The encoding of a record's value: JSON, or Avro with the schema of a file.

Avro is the datum alone, as Spark's `from_avro` reads it. With a `schema_id` it is in Confluent's
wire format, which begins with a byte 0 and the id.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.naming import whole as whole_path
from onceproof.schema.kinds import NONEMPTY, Field, Shape, whole

NAME = "encoding"  # of the option
KIND = Shape(
    {
        "avro": Field(NONEMPTY, "the file with the Avro schema, relative to the scenario's folder"),
        "schema_id": Field(
            whole(0, 2**31 - 1), "the schema's id in a registry, for Confluent's wire format", None
        ),
    }
)


def in_folder(given: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return an encoding with the absolute path of its schema."""
    return {**given, "avro": whole_path(given["avro"], folder)}


@dataclass(frozen=True)
class Avro:
    """The encoding in Avro with a schema, which is not parsed before the first value."""

    schema: Any
    schema_id: int | None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Avro:
        """Return the encoding of an option; raises `RequestError` for a file without a schema."""
        path = Path(given["avro"])
        try:
            schema = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RequestError(f"Avro schema {path} cannot be read: {error}") from None
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise RequestError(
                f'Avro schema {path} is not a record; write {{"type": "record", "fields": [...]}}'
            )
        return cls(schema, given.get("schema_id"))

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """Return a value as bytes; it must fit, as `misfit` says."""
        import fastavro

        data = BytesIO()
        data.write(self._prefix)
        fastavro.schemaless_writer(data, self._parsed, value)
        return data.getvalue()

    def decode(self, data: bytes) -> dict[str, Any]:
        """Return the value of these bytes; raises `ValueError` unless they are one value."""
        import fastavro

        if not data.startswith(self._prefix):
            raise ValueError(f"it does not begin with byte 0 and schema id {self.schema_id}")
        body = BytesIO(data[len(self._prefix) :])
        try:
            found: Any = fastavro.schemaless_reader(body, self._parsed, None)
        except Exception as error:  # of any type, by the bytes that it meets
            why = f"{type(error).__name__}: {error}"
            raise ValueError(f"it is not Avro of the schema: {why}") from None
        if left := body.read():
            raise ValueError(f"it has {len(left):,} bytes after its Avro value")
        return dict(found)

    def misfit(self, value: Mapping[str, Any]) -> str:
        """Return why the schema cannot hold a JSON object exactly; empty if it can."""
        return _misfit(self.schema, value, "value")

    @cached_property
    def _parsed(self) -> Any:
        import fastavro

        try:
            return fastavro.parse_schema(self.schema)
        except Exception as error:  # of any type, by what is wrong with the schema
            raise RequestError(
                f"invalid Avro schema {self.schema.get('name', 'without a name')}: {error}"
            ) from None

    @property
    def _prefix(self) -> bytes:
        return b"" if self.schema_id is None else b"\0" + self.schema_id.to_bytes(4, "big")


def _misfit(kind: Any, value: Any, path: str) -> str:
    if isinstance(kind, list):
        fits = any(not _misfit(one, value, path) for one in kind)
        return "" if fits else f"{path} is {value!r:.40}, which fits none of {_names(kind)}"
    name = kind.get("type") if isinstance(kind, dict) else kind
    if isinstance(name, dict | list):
        return _misfit(name, value, path)
    if name == "record" and isinstance(value, Mapping):
        return _misfit_of_record(kind, value, path)
    if name == "enum":
        symbols = kind.get("symbols", [])
        return "" if value in symbols else f"{path} is {value!r:.40}, not one of {_names(symbols)}"
    if _HOLDS.get(str(name), _is_nothing)(value):
        return ""
    return f"{path} is {value!r:.40}, which Avro's {name} does not hold exactly"


def _misfit_of_record(kind: Mapping[str, Any], value: Mapping[str, Any], path: str) -> str:
    fields = {one["name"]: one for one in kind.get("fields", [])}
    needed = {name for name, one in fields.items() if "default" not in one}
    if odd := sorted(needed - value.keys() | value.keys() - fields.keys()):
        where = "the schema" if odd[0] in value else "the value"
        return f"{path}.{odd[0]} is not in {where}"
    found = (_misfit(fields[name]["type"], one, f"{path}.{name}") for name, one in value.items())
    return next(filter(None, found), "")


def _names(kinds: list[Any]) -> str:
    return ", ".join(str(one.get("type") if isinstance(one, dict) else one) for one in kinds)


def _is_whole(bits: int) -> Callable[[Any], bool]:
    def holds(value: Any) -> bool:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return is_whole and -(1 << bits - 1) <= value < 1 << bits - 1

    return holds


def _is_double(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and float(value) == value


def _is_nothing(_value: Any) -> bool:
    return False


# Not float, which rounds: the expected value would be another one.
_HOLDS: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "int": _is_whole(32),
    "long": _is_whole(64),
    "double": _is_double,
    "string": lambda value: isinstance(value, str),
}
