"""Every field of a scenario file: its kind, what it is, and what holds where it is left out.

The reader, the JSON schema and the page of the fields are all made from these tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onceproof.guarantee import Anomaly, Guarantee
from onceproof.references import REFERENCES
from onceproof.references.declared import WORDS
from onceproof.runs import restart
from onceproof.runs.plan import ALLOWED, EARLIEST, FAILED, LATEST, OVER, REFUSED
from onceproof.scenario.fault_fields import FAULT, NAME
from onceproof.schema.kinds import (
    ANY,
    ELEMENT,
    NONEMPTY,
    Either,
    Field,
    Many,
    Shape,
    Tree,
    Word,
    text,
    whole,
)
from onceproof.schema.values import BAD, Item
from onceproof.sinks import OUTPUTS, SINKS
from onceproof.sinks.tables.casts import TYPES
from onceproof.verdict import Grade
from onceproof.workloads import WORKLOADS

TAKEN_ONCE = "taken_once"
OURS = tuple(one.name for one in WORKLOADS)
LONGEST_NAME = 120
_THREE_WORDS = "[a-z][a-z0-9_]*?__[a-z][a-z0-9_]*?__[a-z][a-z0-9_]*"
_NAMES = f"pipeline__sink__fault, at most {LONGEST_NAME} small letters, digits and _"


@dataclass(frozen=True)
class Element:
    """A name of ours, or the `module:attribute` of somebody else's."""

    ours: tuple[str, ...]

    def read(self, item: Item) -> Any:
        """Return the name."""
        value = item.plain()
        return (ELEMENT if ":" in str(value) else Word(self.ours)).read(item)

    def schema(self) -> dict[str, Any]:
        """Return both."""
        return {"anyOf": [{"enum": list(self.ours)}, ELEMENT.schema()]}


_UNITS = ("milliseconds", "seconds", "minutes", "millisecond", "second", "minute")


@dataclass(frozen=True)
class Every:
    """A time between the starts of two batches; a continuous trigger is refused."""

    def read(self, item: Item) -> Any:
        """Return the text."""
        named = item.fields() if item.is_mapping else None
        if "continuous" in (named or ()) or "continuous" in str(item.plain()).lower():
            item.refuse(
                "a continuous trigger has no batches, so nothing of ours can write exactly once"
                " under it: write a time such as 6 seconds, or leave it out"
            )
            return BAD
        return _TIME.read(item)

    def schema(self) -> dict[str, Any]:
        """Return the pattern of times."""
        return _TIME.schema()


_TIME = text(rf"[1-9]\d* ({'|'.join(_UNITS)})", "a time such as 6 seconds, or leave it out")
_COLUMN = text(r"[^\0`]+", "the name of a column")
_PLACE = text(r"(key|value)(\..+)?", "key, value, or value.FIELD where that is JSON")
# Of a job's output: its key, what of it is compared, and where in the input the key stands.
OUTPUT = {
    "key": Field(Many(_COLUMN), "the columns that tell the rows of its output apart", None),
    "columns": Field(
        Shape({}, others=Word(tuple(TYPES))), "what is compared of a row, with its type", None
    ),
    "from": Field(
        Shape({}, others=_PLACE),
        "where in the input a column of the key stands; left out: value.COLUMN",
        None,
    ),
}
# What a job runs on, where that is not what Onceproof runs on.
RUNTIME = {
    "python": Field(NONEMPTY, "the interpreter of the driver and its workers", None),
    "spark_home": Field(NONEMPTY, "the folder of its Spark; left out: that of its pyspark", None),
    "jars": Field(Many(NONEMPTY), "jars on its class path, in place of ours", None),
    "master": Field(NONEMPTY, "the master it is given; left out: the stack's", None),
    "env": Field(Shape({}, others=ANY), "what is in its environment beside ours", None),
}
PIPELINE = Shape(
    {
        "command": Field(
            Many(NONEMPTY, "is empty; write the words that start the job"),
            "the command that starts the job, word by word",
        ),
        "reference": Field(
            Element(WORDS),
            "what it should have written: `each_once`, `calm`, or `module:attribute`",
        ),
        **OUTPUT,
        "starting": Field(
            Word((EARLIEST, LATEST)), "where in the topic its query begins to read", EARLIEST
        ),
        **RUNTIME,
        "options": Field(
            Shape({}, others=ANY), "values for placeholders of your own in the command", {}
        ),
    }
)
SINK = Shape({"name": Field(Element((*SINKS, *OUTPUTS)), "which sink")}, others=ANY)
WORKLOAD = Shape(
    {
        "name": Field(Element(OURS), "which workload", "page_views"),
        "partitions": Field(whole(1, 1000), "partitions of its topic", 4),
    },
    others=Tree(),
)
LIMITS = Shape(
    {
        "run_s": Field(whole(1), "seconds that the run may take", 300),
        "stall_s": Field(whole(1), "seconds that the job may make no progress", 60),
    }
)
_GUARANTEE = Word(tuple(one.value for one in Guarantee))
_VERDICT = Word((Grade.PASS.value, Grade.FAIL.value))
_ANOMALY = Word(tuple(one.value for one in Anomaly))
SCENARIO = Shape(
    {
        "name": Field(
            text(f"(?=.{{,{LONGEST_NAME}}}$){_THREE_WORDS}", _NAMES),
            "its name: `<pipeline>__<sink>__<fault>`, or `__calm` without faults",
        ),
        "tags": Field(Many(NAME), "words by which scenarios are picked", ()),
        "pipeline": Field(
            Either(Word(tuple(REFERENCES)), PIPELINE), "a pipeline of ours, or a job of yours"
        ),
        "workload": Field(
            WORKLOAD, "the events that are sent", {"name": "page_views", "partitions": 4}
        ),
        "sink": Field(
            Either(Element((*SINKS, *OUTPUTS)), SINK),
            "where the pipeline writes, and how it is read",
        ),
        "source_options": Field(
            Shape({}, others=ANY),
            "options of Spark's Kafka source, for a pipeline of ours: `failOnDataLoss: false`",
            {},
        ),
        "state_store": Field(
            Word(("hdfs", "rocksdb", "rocksdb_changelog")), "where Spark keeps its state", "hdfs"
        ),
        "max_offsets": Field(whole(1), "records that a batch reads at most", 2000),
        "trigger": Field(
            Every(),
            "how often a batch begins; left out: as soon as the one before has ended",
            None,
        ),
        "source": Field(
            Word(("kafka", TAKEN_ONCE)),
            "where a pipeline of ours reads; left out: the topic itself, which can be read again",
            None,
        ),
        "faults": Field(Many(FAULT), "what strikes, and when", ()),
        "restart": Field(
            restart.Restart(), "how the job is started again after it died", restart.DEFAULT
        ),
        "limits": Field(LIMITS, "how long we are ready to wait", {"run_s": 300, "stall_s": 60}),
        "ends": Field(
            Word((OVER, FAILED)),
            "how the job must end: with all input committed, or given up by its restart strategy",
            OVER,
        ),
        "last_words": Field(
            text(r".{1,200}", "a regular expression of up to 200 letters"),
            "with `ends: failed`, what the log of its last attempt must end in; left out: anything",
            "",
        ),
        "unexplained": Field(
            Word((REFUSED, ALLOWED)),
            "whether attempts and tasks may fail where no planned fault explains it",
            REFUSED,
        ),
        "hold_to": Field(
            _GUARANTEE,
            "the guarantee it is judged by; left out: the sink's, or a weaker source's",
            None,
        ),
        "claims": Field(_VERDICT, "the verdict that it must get", Grade.PASS.value),
        "anomalies": Field(Many(_ANOMALY), "with FAIL, the classes that must appear", ()),
    }
)
