"""Changes the input topic as happens in production: aborted records, expiry, growth, recreation.

There is no heal: records that a topic has lost stay lost, and the run is judged with that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Any

from onceproof.errors import StackError
from onceproof.faults import Ends, Mechanism, Need, Proof, Scene, Setting
from onceproof.faults.checks import Case, Check, whole
from onceproof.kafka.security import Brokers
from onceproof.kafka.topics import drop_topic, expire, grow_topic, look, make_topic, read_back
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart
from onceproof.schema import kinds

INPUT = "input"
_ABORTED = 100  # records, a partition
_BEYOND_ALL_IDS = 10**12
_WITHIN_MS = 30_000
_PLANNED_WITHIN_S = 60.0


def abort(fault: FaultPart, scene: Scene) -> Proof:
    """Write records in a transaction and abort it; the proof is their offsets.

    They look like events of the run but have ids of no event, so reading them shows in the output.
    """
    from kafka import KafkaProducer

    topic, brokers = scene.plan.input.topic, scene.brokers
    producer = KafkaProducer(
        **brokers.for_kafka_python(),
        acks="all",
        transactional_id=f"{scene.plan.run}.{fault.name}",
        max_block_ms=_WITHIN_MS,
        metrics_enabled=False,
    )
    with closing(producer):
        producer.init_transactions()
        producer.begin_transaction()
        sent = [
            producer.send(topic, value, key, partition=partition)
            for partition in range(scene.plan.input.partitions)
            for key, value in _strangers(brokers, topic, partition)
        ]
        producer.flush(_WITHIN_MS / 1000)
        places = [(one.get(0).partition, one.get(0).offset) for one in sent]
        producer.abort_transaction()
    if not places:
        raise StackError(f"{topic} is still empty: no record could be copied and aborted")
    return {"aborted": len(places), "offsets": _spans(places)}


def _strangers(brokers: Brokers, topic: str, partition: int) -> Iterator[tuple[Any, bytes]]:
    """Yield the first records of a partition as key and value, with ids that no workload has."""
    for found in islice(read_back(brokers, topic, [partition]), _ABORTED):
        value = json.loads(found.value or b"{}")
        value["id"] = value.get("id", 0) + _BEYOND_ALL_IDS
        yield found.key, json.dumps(value, separators=(",", ":")).encode()


def _spans(places: list[tuple[int, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for partition, offset in sorted(places):
        found.setdefault(str(partition), [offset, offset])[1] = offset
    return found


def let_expire(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Delete all records now in the topic; the proof is how many the job had not planned yet."""
    topic, brokers = scene.plan.input.topic, scene.brokers
    ends = {
        int(number): bounds["end"]
        for number, bounds in look(brokers, [topic])[topic]["partitions"].items()
    }
    planned = scene.job.planned()
    behind = {at: end - planned.get((topic, at), 0) for at, end in ends.items()}
    if max(behind.values()) <= 0:
        raise StackError(f"the job has planned all records of {topic}: none would be lost to it")
    begins = expire(brokers, topic, ends)
    return {
        "begins": {str(at): begin for at, begin in begins.items()},
        "unread": {str(at): count for at, count in behind.items() if count > 0},
    }


def make_anew(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Recreate the topic under the same name; the proof is its id before and after."""
    workload, brokers = scene.plan.input, scene.brokers
    before = look(brokers, [workload.topic])[workload.topic]
    drop_topic(brokers, workload.topic)
    make_topic(brokers, workload.topic, workload.partitions)

    def new_id() -> str:
        found: str = look(brokers, [workload.topic])[workload.topic]["id"]
        return found if found != before["id"] else ""

    words = f"{workload.topic} still has its old id: it was not removed"
    after = wait_for(new_id, _WITHIN_MS / 1000, words)
    return {"id_before": before["id"], "id_after": after, "ends": before["partitions"]}


def grow(fault: FaultPart, scene: Scene) -> Proof:
    """Add partitions; the proof is their number, and the new ones that the job has planned."""
    topic, brokers = scene.plan.input.topic, scene.brokers
    before = len(look(brokers, [topic])[topic]["partitions"])
    wanted = _wanted(fault.how, before)
    if wanted <= before:
        raise StackError(f"{topic} already has {before} partitions: none was added")
    grow_topic(brokers, topic, wanted)
    words = f"the job has planned no partition of {topic} beyond the first {before}"
    new = wait_for(
        lambda: [at for _, at in scene.job.planned() if at >= before], _PLANNED_WITHIN_S, words
    )
    after = len(look(brokers, [topic])[topic]["partitions"])
    return {"partitions_before": before, "partitions": after, "planned_new": sorted(new)}


def _wanted(how: Mapping[str, Any], before: int) -> int:
    found: int = how.get("partitions", 2 * before)
    return found


def _aborted_records(case: Case) -> bool:
    spans = [(whole(first), whole(last)) for first, last in case.proof["offsets"].values()]
    return 0 < whole(case.proof["aborted"], 1) <= sum(last - first + 1 for first, last in spans)


def _missed_records(case: Case) -> bool:
    begins, unread = case.proof["begins"], case.proof["unread"]
    return bool(unread) and all(
        0 < whole(count, 1) <= whole(begins[at], 1) for at, count in unread.items()
    )


def _grew(case: Case) -> bool:
    before, after = (whole(case.proof[name], 1) for name in ("partitions_before", "partitions"))
    new = case.proof["planned_new"]
    are_new = 0 < len(set(new)) == len(new) and all(before <= whole(at) < after for at in new)
    return are_new and after == _wanted(case.fault.how, before) > before


def _is_another_topic(case: Case) -> bool:
    before, after = case.proof["id_before"], case.proof["id_after"]
    return bool(before and after and before != after and case.proof["ends"])


_ABORTED_PROVES = (
    Check("`aborted` records are within the `offsets` of some partitions", _aborted_records),
)
_EXPIRED_PROVES = (
    Check("`unread` records of a partition are before its new begin in `begins`", _missed_records),
)
_GROWN_PROVES = (
    Check("there are as many `partitions` as planned, more than before; some are planned", _grew),
)
_ANEW_PROVES = (Check("the topic has another id than before", _is_another_topic),)


def _is_no_growth(one: Setting) -> str:
    has, wanted = one.partitions, one.how.get("partitions")
    if wanted is None or wanted > has:
        return ""
    return (
        f"{wanted} is out of range: the input already has {has} partitions; use at least {has + 1}"
    )


_PARTITIONS = kinds.Field(kinds.whole(2, 1000), "of grow: the new number; default: twice", None)
ABORT = Mechanism({"abort": "the offsets of the aborted records"}, (INPUT,), abort, _ABORTED_PROVES)
EXPIRE = Mechanism(
    {"expire": "the new first offsets of the partitions, and the number of unread records"},
    (INPUT,),
    let_expire,
    _EXPIRED_PROVES,
    ends={INPUT: Ends.LOST_INPUT},
)
GROW = Mechanism(
    {"grow": "the number of partitions, before and after, and which new ones the job has planned"},
    (INPUT,),
    grow,
    _GROWN_PROVES,
    how={"grow": {"partitions": _PARTITIONS}},
    needs=(Need(("how", "partitions"), _is_no_growth),),
)
RECREATE = Mechanism(
    {"recreate": "the topic's id, before and after"}, (INPUT,), make_anew, _ANEW_PROVES
)
