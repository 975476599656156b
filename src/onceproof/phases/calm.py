"""The calm run: the same seed without faults, carried out first; what it leaves is the expectation.

It is a run of its own in the folder `calm/` of the run, with its own topic, output and checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from onceproof.checkpoint.archive import queries
from onceproof.checkpoint.coverage import Range, first_reads
from onceproof.checkpoint.log import batches, planned
from onceproof.database import open_database
from onceproof.errors import EvidenceError
from onceproof.job.handle import find_agent, start_agent
from onceproof.job.targets import open_sink
from onceproof.machine.identity import Identity
from onceproof.phases.new_run import write_plan
from onceproof.phases.observe import observe
from onceproof.phases.phase import await_agent, end_of, phase
from onceproof.phases.prepare import look_at_input, prepare
from onceproof.phases.produce import produce
from onceproof.phases.release import release
from onceproof.references.declared import CALM
from onceproof.runs.directory import RunDirectory
from onceproof.runs.ledger import query_parquet
from onceproof.runs.plan import Plan


def run_calm(run: RunDirectory, plan: Plan, home: Path) -> None:
    """Carry out the calm run on the stack of a run, where the reference is that; once.

    One that was begun and did not come to its end raises `EvidenceError`: what it left is no
    expectation, and its input cannot be sent again.
    """
    calm = run.calm
    if plan.output.reference != CALM or _is_done(calm):
        return
    if calm.plan.exists():
        raise EvidenceError(
            "the calm run was begun before and did not come to rest, so it is no expectation: run"
            " the scenario again"
        )
    calm.logs.mkdir(parents=True, exist_ok=True)
    own = plan.calm()
    write_plan(calm, own)
    try:
        with phase(calm, "prepare"):
            prepared = prepare(calm, own, home)
        start_agent(calm, Identity.of(os.getpid()))
        with phase(calm, "produce"):
            produce(calm, own, prepared.brokers, is_over=lambda: _has_ended(calm))
        await_agent(calm, own)
        with phase(calm, "observe"):
            if not observe(calm, open_sink(calm, own, prepared.address)):
                raise EvidenceError(
                    "the calm run's output did not come to rest: it is no expectation"
                )
            look_at_input(calm, own, prepared.brokers, "observe")
    finally:
        release(calm, own)


def _is_done(calm: RunDirectory) -> bool:
    """Whether the calm run came to rest, by its own history, and was released."""
    end = end_of(calm, "observe")
    return end is not None and end.is_ok and calm.released.exists()


def _has_ended(calm: RunDirectory) -> bool:
    agent = find_agent(calm)
    return agent is not None and not agent.is_alive


def refuse_late(run: RunDirectory) -> None:
    """Raise `EvidenceError` where rows came late in either run: then a calm one proves nothing.

    A fault rightly changes where batches end, and with that which rows are late and are dropped.
    """
    for one, which in ((run.calm, "the calm run"), (run, "this run")):
        watermarks = _watermarks(one)
        if not any(watermarks.values()):
            continue  # the job has no watermark, so nothing is ever late
        late = _late(one, watermarks)
        if late is None:
            raise EvidenceError(
                "the job has a watermark, and nobody says which field holds the event time, so rows"
                " may have come late, and which of them are dropped depends on where batches end:"
                " write the workload's event_time, or a function as the reference"
            )
        if late:
            raise EvidenceError(
                f"{late:,} rows came late in {which}: which of them are dropped depends on where"
                " batches end, and faults rightly change that, so a calm run is the wrong test:"
                " write a function as the reference, or input without late rows"
            )


def _watermarks(run: RunDirectory) -> dict[tuple[int, int], int]:
    """Return the watermark before which rows were late in each batch of each query."""
    found = {}
    for number, folder in enumerate(queries(run.checkpoint_log)):
        for batch in batches(folder / "offsets"):
            found[number, batch + 1] = planned(folder, batch).watermark_ms
    return found


def _late(run: RunDirectory, watermarks: Mapping[tuple[int, int], int]) -> int | None:
    """Return how many rows came behind the watermark; None where a row tells no event time."""
    import pyarrow as pa

    def bound(one: Range) -> int:
        return watermarks.get((one.query, one.batch), 0)

    reads = first_reads(queries(run.checkpoint_log))
    names = ("topic", "partition", "begin", "end")
    columns = {name: [getattr(one, name) for one in reads] for name in names}
    with open_database() as store:
        store.register("ranges", pa.table(columns | {"bound": list(map(bound, reads))}))
        ((untold, late),) = query_parquet(run.ledger, _LATE, store)
    return None if untold else int(late)


_LATE = """
    select count(*) filter (where event_ms is null), count(*) filter (where event_ms <= bound)
    from {rows} sent join ranges on sent.topic = ranges.topic
        and sent.partition = ranges.partition and "offset" >= "begin" and "offset" < "end"
    where kind <> 'sentinel'"""
