"""The ledger held against the topic: unknown outcomes are settled, and no record is a stranger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onceproof.errors import EvidenceError
from onceproof.kafka.security import Brokers
from onceproof.kafka.topics import look, read_back
from onceproof.producing.rows import FAILED, ID, OK, UNKNOWN, write_rows
from onceproof.runs.ledger import Ledger, parquet_files, query_parquet

_NOBODY = -1


def settle(folder: Path, brokers: Brokers, topic: str) -> dict[str, int]:
    """Give every send its place or call it failed; return the next offset of each partition.

    Afterwards ledger and topic are the same records: what the topic holds more or less raises
    `EvidenceError`. Aborted records are none of either, and of expired ones the ledger's word is
    taken. A send is known by its payload, or by the id in its headers where it is sent as
    it is; of several copies each takes the next place.
    """
    unknown = query_parquet(
        folder,
        "select distinct partition from {rows} where ack = 'unknown' order by partition",
    )
    partitions = look(brokers, [topic])[topic]["partitions"]
    if unknown and any(bounds["start"] for bounds in partitions.values()):
        raise EvidenceError(
            f"the beginning of {topic} has expired, and of some events nobody knows whether they"
            " were in it"
        )
    if unknown:
        places = _places(folder, brokers, topic, [row[0] for row in unknown])
        for path in parquet_files(folder):
            _settle_file(path, places)
    ledger = Ledger.read(folder)
    if odd := [int(number) for number in partitions if _is_odd(ledger, topic, number, partitions)]:
        _check_records(ledger, brokers, topic, odd, partitions)
    return {number: bounds["end"] for number, bounds in partitions.items()}


def _places(
    folder: Path, brokers: Brokers, topic: str, partitions: Sequence[int]
) -> dict[int, list[int]]:
    """Return where the events of unknown outcome stand, but for the places that are known."""
    rows = query_parquet(
        folder,
        'select id, any_value(payload), list("offset") filter ("offset" is not null)'
        " from {rows} group by id having bool_or(ack = 'unknown')",
    )
    known = {number: set(offsets or ()) for number, _, offsets in rows}
    named = {payload: number for number, payload, _ in rows}
    places: dict[int, list[int]] = defaultdict(list)
    for found in read_back(brokers, topic, partitions):
        told = dict(found.headers).get(ID)
        payload = (found.value or b"").decode(errors="replace")
        number = int(told) if told else named.get(payload, _NOBODY)
        if number in known and found.offset not in known[number]:
            places[number].append(found.offset)
    return places


def _settle_file(path: Path, places: Mapping[int, list[int]]) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    table = parquet.read_table(path, partitioning=None)
    acks, offsets = table["ack"].to_pylist(), table["offset"].to_pylist()
    if UNKNOWN not in acks:
        return
    for place, number in enumerate(table["id"].to_pylist()):
        if acks[place] == UNKNOWN:
            found = places.get(number)
            acks[place], offsets[place] = (OK, found.pop(0)) if found else (FAILED, None)
    for name, cells in (("ack", acks), ("offset", offsets)):
        number = table.schema.get_field_index(name)
        column = pyarrow.array(cells, table.schema.field(name).type)
        table = table.set_column(number, name, column)
    write_rows(table, path)


def _is_odd(ledger: Ledger, topic: str, number: str, partitions: Mapping[str, Any]) -> bool:
    """Whether a partition holds other offsets than the ledger's from 0 to its end."""
    bounds, offsets = partitions[number], ledger.offsets.get((topic, int(number)), [])
    held = bounds["end"] - bounds["start"]
    return bool(
        bounds["start"] or held != len(offsets) or (offsets and offsets[-1] != bounds["end"] - 1)
    )


def _check_records(
    ledger: Ledger,
    brokers: Brokers,
    topic: str,
    odd: Sequence[int],
    partitions: Mapping[str, Any],
) -> None:
    """Raise unless the records that are committed, from where a partition begins, are the ledger's.

    What a transaction has aborted is no input, and what has expired was.
    """
    found: dict[int, list[int]] = defaultdict(list)
    for one in read_back(brokers, topic, odd, "read_committed"):
        found[one.partition].append(one.offset)
    for number in odd:
        bounds = partitions[str(number)]
        offsets = ledger.offsets.get((topic, number), [])
        if found[number] != [offset for offset in offsets if offset >= bounds["start"]]:
            raise EvidenceError(
                f"{topic}-{number} holds {len(found[number]):,} records from {bounds['start']:,} to"
                f" {bounds['end']:,}, and the ledger knows {len(offsets):,}: somebody else wrote to"
                " it, or a record was sent twice; begin a new run with a topic of its own"
            )
