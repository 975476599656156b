"""Records of a file, sent as they are, and repeated up to a number of events.

The file has one JSON object per line, with `key`, `value` and `headers`; a missing one is null. A
value that is an object is sent as JSON text. `key_base64` and `value_base64` contain bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onceproof import naming
from onceproof.errors import RequestError
from onceproof.schema.kinds import TEXT, Field, whole
from onceproof.workloads import as_is
from onceproof.workloads.as_is import Record

OPTIONS: Mapping[str, Field] = {
    "file": Field(TEXT, "the file with the records, relative to the scenario's folder"),
    "events": Field(whole(0, 1_000_000_000), "number of events; 0: as many as the file has", 0),
    **as_is.OPTIONS,
}
_KNOWN = ("key", "key_base64", "value", "value_base64", "headers")
_CHUNK = 20_000


def pinned(options: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
    """Return the options with the file's absolute path and, by default, its number of events."""
    path = Path(naming.whole(options["file"], folder))
    found = read(path)
    if options["event_time"]:
        for one in found:
            as_is.time_of(one.value, options["event_time"])
    return {**options, "file": str(path), "events": options["events"] or len(found)}


def events(options: Mapping[str, Any], seed: int, producer: int) -> Iterator[Any]:  # noqa: ARG001
    """Yield the events of one producer; the seed is not used."""
    found = read(Path(options["file"]))
    first, end = as_is.share(options, producer)
    for begin in range(first, end, _CHUNK):
        ids = range(begin, min(begin + _CHUNK, end))
        some = [found[one % len(found)] for one in ids]
        yield as_is.table(some, ids, producer, options["event_time"])


def read(path: Path) -> list[Record]:
    """Return a file's records; raises `RequestError` with the number of an invalid line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"records of {path} cannot be read: {error}") from None
    found = [_record(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line]
    if not found:
        raise RequestError(f"{path} has no records; write one JSON object per line")
    return found


def _record(line: str, where: str) -> Record:
    try:
        fields = json.loads(line)
        if not isinstance(fields, dict) or fields.keys() - set(_KNOWN):
            raise ValueError(f"its fields must be among {', '.join(_KNOWN)}")
        headers = {name: _content(of) or b"" for name, of in fields.get("headers", {}).items()}
        return Record(_one(fields, "key"), _one(fields, "value"), tuple(headers.items()))
    except (ValueError, AttributeError) as error:
        raise RequestError(
            f'{where} is not a record: {error}; write {{"key": "k", "value": {{...}}}}'
        ) from None


def _one(fields: Mapping[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in fields:
        return base64.b64decode(fields[f"{name}_base64"], validate=True)
    return _content(fields.get(name))


def _content(value: Any) -> bytes | None:
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()
