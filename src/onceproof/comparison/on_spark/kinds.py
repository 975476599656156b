"""Spark's types as kinds, and the expressions by which a column is compared and hashed.

Spark's 64-bit hash takes a seed, so two seeds give two independent hashes. It skips NULLs, and a
list and its only item have the same hash: so the hash includes whether each part is NULL, and the
length of every list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onceproof.comparison.columns import Column
from onceproof.comparison.kinds import NOTHING, Kind

_FLAT = {
    "boolean": Kind("boolean"),
    "tinyint": Kind("integer", 8),
    "smallint": Kind("integer", 16),
    "int": Kind("integer", 32),
    "bigint": Kind("integer", 64),
    "float": Kind("floating", 32),
    "double": Kind("floating", 64),
    "string": Kind("text"),
    "void": NOTHING,
    "binary": Kind("binary"),
    "date": Kind("date"),
    "timestamp_ntz": Kind("timestamp", 6),
    "timestamp": Kind("instant", 6),
}
_WRITTEN = {kind: native for native, kind in _FLAT.items()}
_SEEDS = 11, 7
_BUCKET_SEED = 3


def columns_of(frame: Any) -> list[Column]:
    """Return the columns of a DataFrame."""
    return [
        Column(field.name, kind_of(field.dataType), field.dataType.simpleString())
        for field in frame.schema.fields
    ]


def kind_of(native: Any) -> Kind | None:
    """Return the kind of a Spark type, or None for one that is not compared."""
    name = native.typeName()
    if name == "decimal":
        return Kind("decimal", native.precision, native.scale)
    if name == "array":
        return _nested("list", [("element", native.elementType)])
    if name == "map":
        return _nested("map", [("key", native.keyType), ("value", native.valueType)])
    if name == "struct":
        return _nested("struct", [(field.name, field.dataType) for field in native.fields])
    return _FLAT.get(native.simpleString())


def written(kind: Kind) -> str:
    """Return a kind without parts as a type of Spark's SQL."""
    return _WRITTEN[kind]


def _nested(name: str, children: list[tuple[str, Any]]) -> Kind | None:
    parts = [(part, kind_of(native)) for part, native in children]
    if not all(kind for _, kind in parts):
        return None
    return Kind(name, parts=tuple((part, kind) for part, kind in parts if kind))


def canonical(value: Any, kind: Kind) -> Any:
    """Return a column as this kind: no negative zero, a map as its entries in the order of keys."""
    from pyspark.sql import functions as F

    if kind.name == "floating":
        return value.cast(_WRITTEN[kind]) + F.lit(0).cast(_WRITTEN[kind])
    if kind.name == "decimal":
        return value.cast(f"decimal({kind.digits},{kind.scale})")
    if not kind.parts:
        return value.cast(_WRITTEN[kind])
    if kind.name == "list":
        element = kind.parts[0][1]
        return F.transform(value, lambda item: canonical(item, element))
    if kind.name == "struct":
        fields = [canonical(value.getField(name), part).alias(name) for name, part in kind.parts]
        return F.when(value.isNotNull(), F.struct(*fields))
    (_, key), (_, held) = kind.parts
    entries = F.transform(
        F.map_entries(value),
        lambda entry: F.struct(
            canonical(entry["key"], key).alias("key"),
            canonical(entry["value"], held).alias("value"),
        ),
    )
    return F.array_sort(entries)


def row_hashes(columns: Sequence[tuple[str, Kind]]) -> tuple[Any, Any]:
    """Return two independent hashes of a row of these canonical columns."""
    first, second = (_hash(seed, columns) for seed in _SEEDS)
    return first, second


def bucket_hash(columns: Sequence[tuple[str, Kind]], bits: int) -> Any:
    """Return a hash of this many bits of these canonical columns, independent of a row's two."""
    from pyspark.sql import functions as F

    return F.shiftrightunsigned(_hash(_BUCKET_SEED, columns), 64 - bits).cast("int")


def _hash(seed: int, columns: Sequence[tuple[str, Kind]]) -> Any:
    from pyspark.sql import functions as F

    parts = [part for name, kind in columns for part in _hashed(F.col(name), kind)]
    return F.xxhash64(F.lit(seed), *parts)


def _hashed(value: Any, kind: Kind) -> list[Any]:
    """Return the hashed parts of a value: whether it is NULL, its length, and its content."""
    from pyspark.sql import functions as F

    if not kind.parts:
        return [value.isNull(), value]
    if kind.name == "struct":
        inner = [part for name, of in kind.parts for part in _hashed(value.getField(name), of)]
        return [value.isNull(), *inner]
    fields = kind.parts

    def item(one: Any) -> Any:
        if kind.name == "list":
            return F.struct(*_hashed(one, fields[0][1]))
        return F.struct(*(part for name, of in fields for part in _hashed(one.getField(name), of)))

    return [value.isNull(), F.size(value), F.transform(value, item)]
