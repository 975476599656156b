"""Three realistic runs for the report: one green, one red, one unknown."""

from random import Random

from tests.plans import output_of
from tests.unit.handwritten_run import (
    HandwrittenRun,
    did,
    fault,
    offsets,
    plan,
    saw,
    struck,
    topics,
)

BATCHES, ROWS = 24, 50
VERSIONS = {
    "onceproof": "0.1.0", "commit": "c655e12a", "python": "3.11.7", "java": "17.0.9",
    "spark": "4.2.0", "kafka brokers": "4.3.1", "postgresql": "18.6",
}  # fmt: skip
KILL = fault("kill_driver", "kill", "driver", failpoint="decided", batch=7)
KILL_HALF = fault("kill_driver", "kill", "driver", failpoint="write_half", batch=7)
CUT = fault("cut_broker", "cut", "broker:leader=events/0", committed=0.6)
RUN = "window_totals_7"
COUNTS = {"refused": 4, "reset": 2, "held_bytes": 0, "swallowed_bytes": 0, "reset_at_heal": 0}
CUT_PROOF = {
    "rule": {
        "name": f"{RUN}/cut_broker",
        "do": "cut",
        "pairs": [["anyone", "broker:2"], ["broker:2", "broker:1"], ["broker:2", "broker:3"]],
        "ways": ["requests", "answers"],
        "ms": 0,
        "kbytes": 0,
    },
    "members": ["broker:2"],
    "counts": COUNTS,
    "seconds": 0.4,
    "moment": {"committed": 0.625},
    "planned": 14,
    "committed": 14,
}


def example_plan(scenario, sink, faults, **changes):
    found = plan(
        scenario=scenario,
        run=RUN,
        subject="git:9f2c41d",
        faults=faults,
        versions=VERSIONS,
        replay=f"onceproof run {scenario} --seed 7",
        **changes,
    )
    output_of(found).update(sink)
    return found


class Story:
    """A run in progress: records with their times, and the visible rows."""

    def __init__(self):
        self.random, self.now = Random(7), 0.0
        self.history, self.times, self.reads = [], [], []
        self.poll, self.attempt, self.lost = 0, 1, ()

    def then(self, op, actor, seconds=0.0, outcome="ok", **fields):
        self.now += seconds
        self.history.append(did(op, actor, outcome, **fields))
        self.times.append(self.now)

    def struck(self, record):
        self.now += 0.1
        self.history.append(record)
        self.times.append(self.now)

    def look(self, seconds=0.1, rows=()):
        self.poll += 1
        self.reads += rows
        self.then("poll", "reader", seconds, poll=self.poll, rows=len(rows))

    def rows(self, batch, share=1.0, attempt=None):
        first = batch * ROWS
        return [
            saw(self.poll + 1, key, batch=batch, attempt=attempt or self.attempt)
            for n in range(int(ROWS * share))
            if (key := f"order-{first + n:05}") not in self.lost
        ]

    def begin(self):
        for phase in ("plan", "prepare"):
            self.then("phase.start", phase)
            self.then("phase.end", phase, 0.4)
        self.then("input.topics", "prepare", **topics(0))
        self.then("phase.start", "process")
        self.then("attempt.start", "supervisor", 0.5, attempt=1)
        self.now += 3

    def offer(self, batch):
        sent = min(BATCHES * ROWS, (batch + 4) * ROWS)
        self.then("input.progress", "produce", offered=sent, acknowledged=sent)

    def batch(self, batch, seen=True):
        self.offer(batch)
        self.then("batch.offsets", "archiver", 0.2, batch=batch, **offsets((batch + 1) * ROWS))
        self.look(0.3 + self.random.random() / 3, self.rows(batch) if seen else ())
        self.then("batch.commit", "archiver", 0.1, batch=batch)

    def restart(self, seconds):
        self.then("attempt.end", "supervisor", 0.1, "failed", attempt=self.attempt)
        self.attempt += 1
        self.then("attempt.start", "supervisor", 1.0, attempt=self.attempt)
        self.look(seconds / 2)
        self.look(seconds / 2)

    def end(self, rows, polled=True):
        self.then("attempt.end", "supervisor", 1.0, attempt=self.attempt)
        self.then("sink.recover", "sink", 0.5)
        self.then("phase.end", "process")
        self.then("sink.open", "observe", 0.1, open=0, hidden=0)
        self.then("input.topics", "observe", **topics(BATCHES * ROWS + 1))
        if polled:
            self.look(0.3)
        for _ in range(2):
            self.then("read", "observe", 0.6, rows=rows, digest="8d3f")

    def run(self, document, observed, **fields):
        total = BATCHES * ROWS
        clocks = lambda seq: (4000 + self.times[seq - 1], 1.8e9 + self.times[seq - 1])  # noqa: E731
        return HandwrittenRun(
            document, self.history, self.reads, list(range(total)),
            expected=total, observed=observed, clocks=clocks, **fields,
        )  # fmt: skip


def green():
    """Two faults in an exactly-once sink, and correct rows."""
    story = Story()
    story.begin()
    for batch in range(BATCHES):
        if batch == 7:
            story.offer(batch)
            story.then("batch.offsets", "archiver", 0.2, batch=7, **offsets(8 * ROWS))
            story.struck(struck("kill_driver", 7))
            story.restart(5)
        if batch == 15:
            story.struck(did("fault.strike", "cut_broker", **CUT_PROOF))
            story.look(2)
            story.then("fault.heal", "cut_broker", 1.5, counts=COUNTS, changed=True)
        story.batch(batch)
    story.end(BATCHES * ROWS)
    sink = {"name": "two_phase_table", "family": "two_phase", "store": "postgres"}
    document = example_plan("window_totals__two_phase_table__kill_and_cut", sink, [KILL, CUT])
    return story.run(document, BATCHES * ROWS)


def red():
    """A sink without a memory of batches, killed half-way through one, judged by exactly-once."""
    story = Story()
    story.lost = ("order-00901",)
    story.begin()
    for batch in range(BATCHES):
        if batch == 7:
            story.offer(batch)
            story.then("batch.offsets", "archiver", 0.2, batch=7, **offsets(8 * ROWS))
            story.look(0.3, story.rows(7, 0.5))
            story.struck(struck("kill_driver", 7, "write_half"))
            story.restart(6)
        story.batch(batch)
    story.end(BATCHES * ROWS + 24)
    samples = [
        {
            "class": "duplicated",
            "key": {"order_id": f"order-{350 + n:05}", "region": "north"},
            "expected": {"amount": 1250 + n, "copies": 1},
            "observed": {"amount": 1250 + n, "copies": 2},
            "topic": "events", "partition": n % 2, "offset": 175 + n, "batch": 7, "attempt": 2,
        }
        for n in range(4)
    ]  # fmt: skip
    samples.append(
        {
            "class": "lost", "key": {"order_id": "order-00901", "region": "south"},
            "expected": {"amount": 77, "copies": 1}, "observed": None,
            "topic": "events", "partition": 1, "offset": 450, "batch": 18, "attempt": 2,
        }
    )  # fmt: skip
    sink = {"name": "append_table", "family": "append", "store": "postgres"}
    document = example_plan(
        "window_totals__append_table__kill_driver", sink, [KILL_HALF], writes="append"
    )
    counts = {"lost": 1, "duplicated": 25, "unexpected": 0, "changed": 0}
    return story.run(document, BATCHES * ROWS + 24, differences=counts, samples=samples)


def unknown():
    """A cut without effect, and a reader that crashed before the end."""
    story = Story()
    story.begin()
    for batch in range(BATCHES):
        if batch == 15:
            story.then("fault.strike", "cut_broker", 0.2, "unknown")
        story.batch(batch)
    story.end(BATCHES * ROWS, polled=False)
    sink = {"name": "two_phase_topic", "family": "two_phase", "store": "kafka"}
    document = example_plan("window_totals__two_phase_topic__cut_broker", sink, [CUT])
    return story.run(document, BATCHES * ROWS)


EXAMPLES = {"green": (green, "PASS"), "red": (red, "FAIL"), "unknown": (unknown, "UNKNOWN")}
