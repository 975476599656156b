"""Does to the input what production does: what was aborted stays, its beginning expires, it grows.

None of it is undone: what a topic has lost is lost, and the run's end is judged with that.
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
    """Write records in a transaction and abort it; the proof is where they stand.

    They look like the run's own events, with ids that no event has: who reads them shows it.
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
        raise StackError(f"{topic} is still empty, so no record of it could be made stale")
    return {"aborted": len(places), "offsets": _spans(places)}


def _strangers(brokers: Brokers, topic: str, partition: int) -> Iterator[tuple[Any, bytes]]:
    """Yield key and value of the first records of a partition, each as an event of no workload."""
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
    """Delete all that is in the topic now; the proof is by how much the reader was overtaken."""
    topic, brokers = scene.plan.input.topic, scene.brokers
    ends = {
        int(number): bounds["end"]
        for number, bounds in look(brokers, [topic])[topic]["partitions"].items()
    }
    planned = scene.job.planned()
    behind = {at: end - planned.get((topic, at), 0) for at, end in ends.items()}
    if max(behind.values()) <= 0:
        raise StackError(f"the job has planned to read all of {topic}: nothing would be missed")
    begins = expire(brokers, topic, ends)
    return {
        "begins": {str(at): begin for at, begin in begins.items()},
        "unread": {str(at): count for at, count in behind.items() if count > 0},
    }


def make_anew(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Remove the topic and make one of the same name; the proof is its id, before and after."""
    workload, brokers = scene.plan.input, scene.brokers
    before = look(brokers, [workload.topic])[workload.topic]
    drop_topic(brokers, workload.topic)
    make_topic(brokers, workload.topic, workload.partitions)

    def other() -> str:
        found: str = look(brokers, [workload.topic])[workload.topic]["id"]
        return found if found != before["id"] else ""

    words = f"{workload.topic} is still the topic that it was: nothing was removed"
    after = wait_for(other, _WITHIN_MS / 1000, words)
    return {"id_before": before["id"], "id_after": after, "ends": before["partitions"]}


def grow(fault: FaultPart, scene: Scene) -> Proof:
    """Add partitions; the proof is how many there are, and that the job has planned a new one."""
    topic, brokers = scene.plan.input.topic, scene.brokers
    before = len(look(brokers, [topic])[topic]["partitions"])
    wanted = _wanted(fault.how, before)
    if wanted <= before:
        raise StackError(f"{topic} has {before} partitions already: none was added")
    grow_topic(brokers, topic, wanted)
    words = f"the job plans to read no partition of {topic} beyond the first {before}"
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
    Check("of a partition, `unread` records are before where it now `begins`", _missed_records),
)
_GROWN_PROVES = (
    Check("there are as many `partitions` as planned, more than before; some are read", _grew),
)
_ANEW_PROVES = (Check("the topic has another id than before", _is_another_topic),)


def _is_no_growth(one: Setting) -> str:
    has, wanted = one.partitions, one.how.get("partitions")
    if wanted is None or wanted > has:
        return ""
    said = f"the input has {has} partitions already, so {wanted} is no growth: write {has + 1}"
    return f"{said} or more"


_PARTITIONS = kinds.Field(kinds.whole(2, 1000), "of grow: how many then; left out: twice", None)
ABORT = Mechanism({"abort": "where the aborted records stand"}, (INPUT,), abort, _ABORTED_PROVES)
EXPIRE = Mechanism(
    {"expire": "where the partitions begin, and how many records were not read yet"},
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
