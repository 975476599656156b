"""Whether the job has read past what a fault did to its input: aborted, deleted, or added."""

from __future__ import annotations

from typing import Any

from onceproof.run.evidence import Evidence, by_partition
from onceproof.run.ledger import Partition
from onceproof.run.records import Op, Record


def passed_input(evidence: Evidence, strike: Record) -> int:
    """Count the partitions in which batches after a strike went past what it changed."""
    proof = strike.proof
    before, after = _reached(evidence, strike)
    if isinstance(had := proof.get("partitions_before"), int):
        return sum(at[1] >= had for at in after)
    bounds = _bounds(proof)
    return sum(
        before.get(at, 0) < bound <= end
        for at, end in after.items()
        if (bound := bounds.get(str(at[1]))) is not None
    )


def _bounds(proof: Any) -> dict[str, int]:
    """Return by partition the offset behind what was changed."""
    if "aborted" in proof and isinstance(spans := proof.get("offsets"), dict):
        return {at: int(last) + 1 for at, (_, last) in spans.items()}
    begins = proof.get("begins")
    return {at: int(one) for at, one in begins.items()} if isinstance(begins, dict) else {}


def _reached(
    evidence: Evidence, strike: Record
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """Return how far batches were planned when a fault struck, and at the end."""
    before: dict[Partition, int] = {}
    after: dict[Partition, int] = {}
    for record in evidence.of(Op.BATCH_OFFSETS):
        if record.is_ok:
            ends = by_partition(record.proof["offsets"])
            after |= ends
            before |= ends if record.seq < strike.seq else {}
    return before, after
