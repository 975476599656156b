"""A forged job: it reads a topic and writes a checkpoint in Spark's format, without Spark.

    python forged_job.py BOOTSTRAP TOPIC CHECKPOINT

With it, tests of jobs need no JVM. It has no output.
"""

import json
import sys
import time
from pathlib import Path

from onceproof.kafka.security import PLAIN, Brokers
from onceproof.kafka.topics import look

HEAD = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}


def main(bootstrap: str, topic: str, checkpoint: Path) -> None:
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True, exist_ok=True)
    batch = len(list((checkpoint / "commits").iterdir()))
    before: dict[str, int] = {}
    brokers = Brokers(tuple(bootstrap.split(",")), PLAIN)
    while True:
        found = look(brokers, [topic])[topic]["partitions"]
        ends = {number: one["end"] for number, one in found.items()}
        if ends != before and any(ends.values()):
            lines = ["v1", json.dumps(HEAD), json.dumps({topic: ends})]
            put(checkpoint / "offsets" / str(batch), lines)
            put(checkpoint / "commits" / str(batch), ["v1", '{"nextBatchWatermarkMs":0}'])
            batch, before = batch + 1, ends
        time.sleep(0.2)


def put(path: Path, lines: list[str]) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text("\n".join(lines))
    part.rename(path)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
