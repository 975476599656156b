"""The calm run: a run of the same seed without faults, whose output is the expected output.

It is carried out first, as a separate run in the folder `calm/` of the run, with its own topic,
output and checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from onceproof.checkpoint.archive import queries
from onceproof.checkpoint.coverage import Range, first_reads
from onceproof.checkpoint.log import batches, planned
from onceproof.database import cursor
from onceproof.errors import EvidenceError
from onceproof.job.handle import find_agent, start_agent
from onceproof.job.targets import open_sinks
from onceproof.machine.identity import Identity
from onceproof.phases.new_run import write_plan
from onceproof.phases.observe import observe
from onceproof.phases.phase import await_agent, end_of, phase
from onceproof.phases.prepare import look_at_input, prepare
from onceproof.phases.produce import produce
from onceproof.phases.release import release
from onceproof.references.declared import CALM
from onceproof.runs.directory import RunDirectory
from onceproof.runs.ledger import UNREADABLE, query_parquet
from onceproof.runs.plan import Plan


def run_calm(run: RunDirectory, plan: Plan, home: Path) -> None:
    """Carry out the calm run once, on the stack of a run whose reference is `calm`.

    Raise `EvidenceError` for a calm run that was started before and not finished: its output cannot
    be the reference, and its input cannot be sent again.
    """
    calm = run.calm
    if all(one.reference != CALM for one in plan.outputs) or _is_done(calm):
        return
    if calm.plan.exists():
        raise EvidenceError(
            "the calm run was started before and not finished, so its output cannot be the"
            " reference; run the scenario again"
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
            for flow, sink in open_sinks(calm, own, prepared):
                if not observe(flow.run, sink):
                    raise EvidenceError("the output of the calm run still changes after its end")
            look_at_input(calm, own, prepared.brokers, "observe")
    finally:
        release(calm, own)


def _is_done(calm: RunDirectory) -> bool:
    """Whether the calm run finished, by its own history, and was released."""
    end = end_of(calm, "observe")
    return end is not None and end.is_ok and calm.released.exists()


def _has_ended(calm: RunDirectory) -> bool:
    agent = find_agent(calm)
    return agent is not None and not agent.is_alive


def refuse_late(run: RunDirectory) -> None:
    """Raise `EvidenceError` if rows came late in either run: then a calm run proves nothing.

    Faults change where batches end, and therefore which rows are late and dropped. That is correct.
    """
    for one, which in ((run.calm, "the calm run"), (run, "this run")):
        watermarks = _watermarks(one)
        if not any(watermarks.values()):
            continue  # without a watermark no row is late
        late = _late(one, watermarks)
        if late is None:
            raise EvidenceError(
                "the job has a watermark, and the field of the event time is unknown: rows may have"
                " come late, and the dropped ones depend on where batches end; write the workload's"
                " event_time, or use a function as the reference"
            )
        if late:
            raise EvidenceError(
                f"{late:,} rows came late in {which}: the dropped ones depend on where batches end,"
                " which faults may change, so a calm run is no reference; use a function as the"
                " reference, or input without late rows"
            )


def _watermarks(run: RunDirectory) -> dict[tuple[int, int], int]:
    """Return the watermark that late rows were compared with, for each batch of each query."""
    found = {}
    for number, folder in enumerate(queries(run.checkpoint_log)):
        for batch in batches(folder / "offsets"):
            found[number, batch + 1] = planned(folder, batch).watermark_ms
    return found


def _late(run: RunDirectory, watermarks: Mapping[tuple[int, int], int]) -> int | None:
    """Return the number of rows behind the watermark; None if an event's time is unknown."""
    import pyarrow as pa

    def bound(one: Range) -> int:
        return watermarks.get((one.query, one.batch), 0)

    reads = first_reads(queries(run.checkpoint_log))
    names = ("topic", "partition", "begin", "end")
    columns = {name: [getattr(one, name) for one in reads] for name in names}
    with cursor() as store:
        store.register("ranges", pa.table(columns | {"bound": list(map(bound, reads))}))
        has_awkward = query_parquet(run.ledger, _HAS_AWKWARD, store)
        query = _LATE + (_READABLE if has_awkward else "")
        ((without_time, late),) = query_parquet(run.ledger, query, store)
    return None if without_time else int(late)


_LATE = """
    select count(*) filter (where event_ms is null), count(*) filter (where event_ms <= bound)
    from {rows} sent join ranges on sent.topic = ranges.topic
        and sent.partition = ranges.partition and "offset" >= "begin" and "offset" < "end"
    where kind <> 'sentinel'"""
# Records without an event have no time, and are never late. Older ledgers have no such column.
_HAS_AWKWARD = "select 1 from (describe select * from {rows}) where column_name = 'awkward'"
_READABLE = f" and coalesce(awkward, '') not in {UNREADABLE}"
