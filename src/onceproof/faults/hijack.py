"""Takes over the id of an open transaction, as a second producer with the same id does."""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.faults import Mechanism, Proof, Scene
from onceproof.faults.checks import Case, Check, whole
from onceproof.faults.needs import TRANSACTIONS, WAITING
from onceproof.faults.open_transaction import open_transaction, output_of
from onceproof.runs.plan import FaultPart
from onceproof.sinks.protocol.coordinated import ONGOING
from onceproof.sinks.topics.cluster import Cluster
from onceproof.sinks.topics.coordinator import Coordinators

_WITHIN_S = 30.0


def strike(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Start a producer with the id, which aborts the transaction; the proof is its epoch."""
    name = open_transaction(scene)
    output = output_of(scene)
    cluster = Cluster.of(output)
    coordinators = Coordinators(cluster)
    before = coordinators.look([name])[name]
    cluster.bulk(output.name, **{"transactional.id": name}).init_transactions(_WITHIN_S)
    after = coordinators.look([name])[name]
    coordinators.close()
    if before.state != ONGOING or (after.producer, after.epoch) == (before.producer, before.epoch):
        raise StackError(
            f"transaction {name} was in state {before.state}, not open, when it was taken over:"
            " nothing was struck"
        )
    return {
        "id": name,
        "before": {"state": before.state, "epoch": before.epoch},
        "after": {"state": after.state, "epoch": after.epoch},
    }


def _was_taken_over(case: Case) -> bool:
    before, after = case.proof["before"], case.proof["after"]
    is_other = whole(after["epoch"]) > whole(before["epoch"]) and isinstance(after["state"], str)
    return before["state"] == ONGOING != after["state"] and is_other


_PROVES = (
    Check(
        "`id` is that of a transaction of this run's output",
        lambda case: f"{case.output}:" in case.proof["id"],
    ),
    Check(
        "it was open in `before`, not in `after`, and the epoch of `after` is higher",
        _was_taken_over,
    ),
)
MECHANISM = Mechanism(
    {"hijack": "the id's state and epoch, before and after"},
    ("transaction",),
    strike,
    _PROVES,
    needs=(*TRANSACTIONS, WAITING),
)
