"""Comparison of the ledger with the topic: unknown outcomes are settled, other records rejected."""

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

_FOREIGN = -1


def settle(folder: Path, brokers: Brokers, topic: str) -> dict[str, int]:
    """Give every send its offset or mark it failed; return the end offset of each partition.

    Afterwards ledger and topic have the same records: a difference raises `EvidenceError`. Aborted
    records are in neither, and for expired records the ledger is trusted. A send is identified by
    its payload, or by the id in its headers if it is sent as it is; each of several copies takes
    the next offset.
    """
    unknown = query_parquet(
        folder,
        "select distinct partition from {rows} where ack = 'unknown' order by partition",
    )
    partitions = look(brokers, [topic])[topic]["partitions"]
    if unknown and any(bounds["start"] for bounds in partitions.values()):
        raise EvidenceError(
            f"the first records of {topic} have expired, so it is unknown whether some events were"
            " among them"
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
    """Return the offsets of events with unknown outcomes, except those that the ledger has."""
    rows = query_parquet(
        folder,
        'select id, any_value(payload), list("offset") filter ("offset" is not null)'
        " from {rows} group by id having bool_or(ack = 'unknown')",
    )
    in_ledger = {number: set(offsets or ()) for number, _, offsets in rows}
    named = {payload: number for number, payload, _ in rows}
    places: dict[int, list[int]] = defaultdict(list)
    for found in read_back(brokers, topic, partitions):
        header = dict(found.headers).get(ID)
        payload = (found.value or b"").decode(errors="replace")
        number = int(header) if header else named.get(payload, _FOREIGN)
        if number in in_ledger and found.offset not in in_ledger[number]:
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
    """Whether the offsets of a partition differ from the ledger's, or do not begin at 0."""
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
    """Raise unless the committed records from a partition's start on are those of the ledger.

    Aborted records are not input; expired records were.
    """
    found: dict[int, list[int]] = defaultdict(list)
    for one in read_back(brokers, topic, odd, "read_committed"):
        found[one.partition].append(one.offset)
    for number in odd:
        bounds = partitions[str(number)]
        offsets = ledger.offsets.get((topic, number), [])
        if found[number] != [offset for offset in offsets if offset >= bounds["start"]]:
            raise EvidenceError(
                f"{topic}-{number} has {len(found[number]):,} records from {bounds['start']:,} to"
                f" {bounds['end']:,}, but the ledger has {len(offsets):,}: another producer wrote"
                " to it, or a record was sent twice; start a new run with a topic of its own"
            )
