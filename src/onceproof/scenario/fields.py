"""Every field of a scenario file: its kind, its description, and its default.

The reader and the JSON schema are made from these tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onceproof.guarantee import Anomaly, Guarantee
from onceproof.references import REFERENCES
from onceproof.references.declared import WORDS
from onceproof.runs import restart
from onceproof.runs.plan import (
    ALLOWED,
    EARLIEST,
    FAILED,
    IN_TURNS,
    LATEST,
    OVER,
    REFUSED,
    UNTIL_STOPPED,
)
from onceproof.scenario.fault_fields import FAULT, NAME
from onceproof.scenario.suites import SUITES
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
_NAMES = f"pipeline__sink__fault, at most {LONGEST_NAME} lower-case letters, digits and _"


@dataclass(frozen=True)
class Element:
    """A name of the catalogue, or the `module:attribute` of a user's."""

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
    """The time between the starts of two batches; a continuous trigger is refused."""

    def read(self, item: Item) -> Any:
        """Return the text."""
        named = item.fields() if item.is_mapping else None
        if "continuous" in (named or ()) or "continuous" in str(item.plain()).lower():
            item.refuse(
                "a continuous trigger has no batches, on which exactly-once sinks rely; use a time"
                " such as 6 seconds, or omit it"
            )
            return BAD
        return _TIME.read(item)

    def schema(self) -> dict[str, Any]:
        """Return the pattern of times."""
        return _TIME.schema()


_TIME = text(rf"[1-9]\d* ({'|'.join(_UNITS)})", "a time such as 6 seconds, or omit it")
_COLUMN = text(r"[^\0`]+", "the name of a column")
_PLACE = text(r"(key|value)(\..+)?", "key, value, or value.FIELD where that is JSON")
# Of a job's output: its key, the compared columns, and the place of the key in the input.
OUTPUT = {
    "key": Field(Many(_COLUMN), "the key columns of its output", None),
    "columns": Field(
        Shape({}, others=Word(tuple(TYPES))), "the compared columns, with their types", None
    ),
    "from": Field(
        Shape({}, others=_PLACE),
        "the place of a key column in the input (default: value.COLUMN)",
        None,
    ),
}
# The runtime of a job, if it is not that of Onceproof.
RUNTIME = {
    "python": Field(NONEMPTY, "the interpreter of the driver and its workers", None),
    "spark_home": Field(NONEMPTY, "the folder of its Spark (default: that of its pyspark)", None),
    "jars": Field(Many(NONEMPTY), "jars on its class path, instead of the default ones", None),
    "master": Field(NONEMPTY, "its master (default: the stack's)", None),
    "env": Field(Shape({}, others=ANY), "its additional environment variables", None),
}
_REFERENCE = Field(
    Element(WORDS), "the reference for its rows: `each_once`, `calm`, or `module:attribute`"
)
_STARTING = Field(Word((EARLIEST, LATEST)), "the first offsets of its query", EARLIEST)
_JOB = {
    "command": Field(
        Many(NONEMPTY, "is empty; write the words that start the job"),
        "the command that starts the job, word by word",
    ),
    **RUNTIME,
    "options": Field(Shape({}, others=ANY), "values for your own placeholders in the command", {}),
}
PIPELINE = Shape({**_JOB, "reference": _REFERENCE, **OUTPUT, "starting": _STARTING})
SINK = Shape({"name": Field(Element((*SINKS, *OUTPUTS)), "the sink")}, others=Tree())
WORKLOAD = Shape(
    {
        "name": Field(Element(OURS), "the workload", "page_views"),
        "partitions": Field(whole(1, 1000), "partitions of its topic", 4),
    },
    others=Tree(),
)
LIMITS = Shape(
    {
        "run_s": Field(whole(1), "seconds for the whole run", 300),
        "stall_s": Field(whole(1), "seconds without progress of the job", 60),
    }
)
_GUARANTEE = Word(tuple(one.value for one in Guarantee))
_VERDICT = Word((Grade.PASS.value, Grade.FAIL.value))
_ANOMALY = Word(tuple(one.value for one in Anomaly))
CLAIM = {
    "hold_to": Field(
        _GUARANTEE,
        "the guarantee that it is judged by (default: the sink's, or a weaker source's)",
        None,
    ),
    "claims": Field(_VERDICT, "the claimed verdict", Grade.PASS.value),
    "anomalies": Field(Many(_ANOMALY), "with FAIL, the anomalies that must appear", ()),
}
_SINK_FIELD = Field(
    Either(Element((*SINKS, *OUTPUTS)), SINK),
    "the sink that the pipeline writes to, or its output",
)
ONE_OUTPUT = Shape({"sink": _SINK_FIELD, "reference": _REFERENCE, **OUTPUT, **CLAIM})
QUERY = Shape(
    {
        "inputs": Field(
            Many(NAME, "is empty; write the inputs that it reads"),
            "the inputs that it reads (default: all)",
            None,
        ),
        "starting": _STARTING,
        "outputs": Field(Shape({}, others=ONE_OUTPUT), "its outputs by name"),
    }
)
# The fields of a scenario with one output.
ONE = ("sink", "expectations", *CLAIM)
SCENARIO = Shape(
    {
        "name": Field(
            text(f"(?=.{{,{LONGEST_NAME}}}$){_THREE_WORDS}", _NAMES),
            "its name: `<pipeline>__<sink>__<fault>`, or `__calm` without faults",
        ),
        "tags": Field(Many(NAME), "words to select scenarios by", ()),
        "pipeline": Field(
            Either(Word(tuple(REFERENCES)), PIPELINE),
            "a pipeline of the catalogue, or a job of yours",
        ),
        "workload": Field(
            WORKLOAD, "the events that are sent", {"name": "page_views", "partitions": 4}
        ),
        "inputs": Field(
            Shape({}, others=WORKLOAD),
            "instead of `workload`: that of each input, by the input's name",
            None,
        ),
        "sink": _SINK_FIELD,
        "source_options": Field(
            Shape({}, others=ANY),
            "options of Spark's Kafka source, for the catalogue's pipelines: `failOnDataLoss`",
            {},
        ),
        "state_store": Field(
            Word(("hdfs", "rocksdb", "rocksdb_changelog")), "Spark's state store", "hdfs"
        ),
        "max_offsets": Field(whole(1), "the maximum of records in a batch", 2000),
        "trigger": Field(
            Every(),
            "the time between batches (default: none, a batch starts when the previous one ended)",
            None,
        ),
        "source": Field(
            Word(("kafka", TAKEN_ONCE)),
            "the source of a catalogue's pipeline (default: the topic, which can be replayed)",
            None,
        ),
        "faults": Field(Many(FAULT), "the faults", ()),
        "lives": Field(
            Word((UNTIL_STOPPED, IN_TURNS)),
            "how long the job runs: until it is stopped, or in turns that end with exit code 0",
            UNTIL_STOPPED,
        ),
        "restart": Field(
            restart.Restart(), "the restart strategy after a crash of the job", restart.DEFAULT
        ),
        "limits": Field(LIMITS, "limits of time", {"run_s": 300, "stall_s": 60}),
        "ends": Field(
            Word((OVER, FAILED)),
            "the end of the job: all input committed, or given up by its restart strategy",
            OVER,
        ),
        "last_words": Field(
            text(r".{1,200}", "a regular expression of up to 200 characters"),
            "with `ends: failed`, the end of the log of its last attempt (default: anything)",
            "",
        ),
        "unexplained": Field(
            Word((REFUSED, ALLOWED)),
            "whether attempts and tasks may fail without a planned fault as the cause",
            REFUSED,
        ),
        "expectations": Field(SUITES, "suites of yours of Great Expectations", ()),
        **CLAIM,
    }
)
# A job with several queries or outputs: each output has its own sink, reference and claim.
SEVERAL = Shape(
    {
        **{name: one for name, one in SCENARIO.fields.items() if name not in ("pipeline", *ONE)},
        "pipeline": Field(Shape(_JOB), "a job of yours"),
        "queries": Field(Shape({}, others=QUERY), "the queries of the job, by name"),
    }
)
