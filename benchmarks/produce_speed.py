"""Speed of producing a workload, compared with a bare kafka-python producer of the same bytes.

Prints the median of three interleaved turns of each form, and the ratio to one bare producer.
`while sending` excludes the costs paid once a run: the start of the processes, the sentinel, the
check of the ledger against the topic. The CPU time is that of the producers, which for ours
includes creating the events, sending them and writing the ledger. It depends least on the
machine's load.
"""

import json
import multiprocessing
import os
import resource
import shutil
import statistics
import sys
import time
from pathlib import Path

from tests.plans import plan_document

from onceproof.kafka.security import Brokers
from onceproof.kafka.topics import drop_topic, look, make_topic
from onceproof.machine.home import onceproof_home
from onceproof.phases.produce import produce
from onceproof.producing.clients import KafkaPython
from onceproof.producing.rows import Row, Sends
from onceproof.runs.directory import RunDirectory
from onceproof.runs.plan import Plan
from onceproof.stacks.local.stack import LocalStack
from onceproof.workloads import find_workload

EVENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
TURNS = 3
AWKWARD = {"awkward": 0.02}
FORMS = [
    ("bare kafka-python", None, 1, {}),
    ("bare kafka-python", None, 2, {}),
    ("kafka-python", "kafka-python", 1, {}),
    ("kafka-python, 2 % awkward", "kafka-python", 1, AWKWARD),
    ("kafka-python", "kafka-python", 2, {}),
    ("confluent", "confluent", 1, {}),
    ("confluent, 2 % awkward", "confluent", 1, AWKWARD),
    ("confluent", "confluent", 2, {}),
]


def plan(topic: str, client: str, producers: int, more: dict) -> dict:
    options = {"events": EVENTS, "client": client, "producers": producers, "rate": 0, "skew": 0}
    options |= more
    return plan_document(
        run=topic,
        input={"topic": topic, "partitions": 8, "options": options},
        limits={"run_s": 300, "stall_s": 60},
    )


def ours(
    stack: LocalStack, topic: str, client: str, producers: int, more: dict, folder: Path
) -> dict:
    seen: list[tuple[float, int]] = []

    def position() -> dict:
        found = look(stack.brokers, [topic])[topic]["partitions"]
        return {(topic, int(number)): bounds["end"] for number, bounds in found.items()}

    began, cpu_before = time.monotonic(), children_cpu_s()
    produce(
        RunDirectory(folder),
        Plan.of(plan(topic, client, producers, more)),
        stack.brokers,
        is_over=lambda: False,
        position=position,
        progress=lambda done, _: seen.append((time.monotonic(), done)),
    )
    took = time.monotonic() - began
    first = next(at for at in seen if at[1])
    last = next(at for at in seen if at[1] == EVENTS)
    cpu_us = (children_cpu_s() - cpu_before) / EVENTS * 1e6
    sending = (EVENTS - first[1]) / (last[0] - first[0])
    return {"sending": sending, "all": EVENTS / took, "cpu_us": cpu_us}


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def send_bare(brokers: Brokers, topic: str, producer: int, producers: int, gate, took) -> None:
    options = find_workload("page_views").resolve(
        {"events": EVENTS, "producers": producers, "skew": 0}
    )
    rows: list[Row] = []
    for table in find_workload("page_views").events(options, 7, producer):
        rows += Sends(table, topic, topic, 8).rows(0, table.num_rows)
    client = KafkaPython(brokers, topic, 120)._producer  # the same settings, nothing else
    gate.wait()
    began, cpu_before = time.monotonic(), time.process_time()
    for number, key, value, _ in rows:
        client.send(topic, value, key, partition=number)
    client.flush()
    took.put((began, time.monotonic(), time.process_time() - cpu_before))


def bare(
    stack: LocalStack, topic: str, _client: None, producers: int, _more: dict, _folder: Path
) -> dict:
    began = time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    gate, took = spawn.Barrier(producers), spawn.Queue()
    processes = [
        spawn.Process(target=send_bare, args=(stack.brokers, topic, one, producers, gate, took))
        for one in range(producers)
    ]
    for process in processes:
        process.start()
    spans = [took.get() for _ in processes]
    for process in processes:
        process.join()
    seconds = max(end for _, end, _ in spans) - min(start for start, _, _ in spans)
    cpu_us = sum(cpu for _, _, cpu in spans) / EVENTS * 1e6
    whole = EVENTS / (time.monotonic() - began)
    return {"sending": EVENTS / seconds, "all": whole, "cpu_us": cpu_us}


def main() -> None:
    home = onceproof_home() / f"bench-produce-{os.getpid()}"
    results: dict[tuple[str, int], list[dict]] = {}
    with LocalStack.up(home / "stack", without=["spark", "store"], is_quick=False) as stack:
        for turn in range(TURNS):
            for number, (name, client, producers, more) in enumerate(FORMS):
                topic = make_topic(stack.brokers, f"speed_{turn}_{number}", 8)
                form = bare if client is None else ours
                found = form(stack, topic, client, producers, more, home / topic)
                results.setdefault((name, producers), []).append(found)
                drop_topic(stack.brokers, topic)
                print(json.dumps({"form": f"{name} x {producers}", **found}), file=sys.stderr)
    shutil.rmtree(home)
    first = None
    print(f"{EVENTS:,} records, {os.cpu_count()} cores, three brokers among them.\n")
    print("| Client | Processes | records/s while sending | ratio | all of it | CPU us a record |")
    print("|---|---|---|---|---|---|")
    for (name, producers), turns in results.items():
        middle = {key: statistics.median(one[key] for one in turns) for key in turns[0]}
        first = first or middle["sending"]
        cells = [f"{middle['sending']:,.0f}", f"{middle['sending'] / first:.2f}"]
        cells += [f"{middle['all']:,.0f}", f"{middle['cpu_us']:.1f}"]
        print(f"| {name} | {producers} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
