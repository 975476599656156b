"""Messages about mistakes in a scenario file: line, key, value, and the remedy."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onceproof.errors import RequestError
from onceproof.guarantee import Guarantee
from onceproof.scenario.checks import misplaced
from onceproof.sinks import find_sink
from tests.unit.scenario.test_scenarios import JOB, SOUND, read


def refused(text):
    with pytest.raises(RequestError) as caught:
        read(text)
    return str(caught.value)


CHANGES = [
    ("pipeline: app_views", "pipeline: app_view", "2: pipeline: unknown value 'app_view'; did you"),
    (
        "pipeline: app_views",
        "pipelin: app_views",
        "2: pipelin: unknown key 'pipelin'",
    ),
    ("pipeline: app_views\n", "", "1: pipeline is missing; write pipeline:"),
    (
        "name: app_views__",
        "name: app-views__",
        "1: name: invalid value 'app-views__upsert_table__kill_driver'",
    ),
    ("name: app_views__", "name: copy_events__", "1: name: begins with 'copy_events'; write app_v"),
    ("kill_driver", "calm", "1: name: ends with calm although there are faults"),
    (
        "sink: upsert_table",
        "sink: append_table",
        "1: name: names the sink 'upsert_table' instead of",
    ),
    ("sink: upsert_table", "sink: nowhere:Sink", "3: sink: sink 'nowhere:Sink' cannot be loaded"),
    (
        "sink: upsert_table",
        "sink: [upsert_table]",
        "3: sink: invalid value [...]; use one of",
    ),
    ("sink: upsert_table", "sink: {name: upsert_table, fast: 1}", "3: sink.fast: upsert_table has"),
    ("sink: upsert_table", "sink: upsert_table\nsink: append_table", "4: sink: duplicate key"),
    (
        "events: 20_000",
        "evnts: 20_000",
        "4: workload.evnts: unknown key 'evnts'; did",
    ),
    ("events: 20_000", "events: many", "4: workload.events: invalid value 'many'; use a whole nu"),
    (
        "events: 20_000",
        "name: page_veiws",
        "4: workload.name: unknown value 'page_veiws'; did you m",
    ),
    (
        "events: 20_000",
        "events: 2, producers: 3",
        "4: workload.producers: 3 exceeds the number of events, 2",
    ),
    ("partitions: 4", "partitions: 0", "4: workload.partitions: invalid value 0; use a whole num"),
    ("partitions: 4}", "partitions: 4", "5: invalid YAML:"),
    ("do: kill", "do: kil", "6: faults[0].do: unknown value 'kil'; did you mean 'kill'?"),
    ("do: kill\n    ", "", "6: faults[0]: do is missing"),
    (
        "target: driver",
        "target: drivers",
        "7: faults[0].target: unknown target 'drivers'; did you me",
    ),
    (
        "target: driver",
        "target: broker:leader=4",
        "7: faults[0].target: target broker:leader=4 is out of range; use a part",
    ),
    (
        "    target: driver\n",
        "    target: driver\n    how: {ms: 3}\n",
        "8: faults[0].how.ms: kill takes nothing under how; omit it",
    ),
    (
        "do: kill\n    target: driver\n",
        "do: cut\n    target: store\n    how: {ms: 3}\n",
        "8: faults[0].how.ms: cut takes from, until under how; omit it",
    ),
    (
        "do: kill\n    target: driver\n",
        "do: cut\n    target: store\n    how: {from: drivers}\n",
        "8: faults[0].how.from: invalid value 'drivers'; use one of anyone",
    ),
    (
        "do: kill\n    target: driver\n",
        "do: fill\n    target: output\n",
        "8: faults[0].when: UpsertTable writes no files; use target: checkp",
    ),
    (
        "sink: upsert_table",
        "sink: upsert_table\nsource_options: {failOnDataLoss: false}",
        "4: source_options: failOnDataLoss is false although the run is held to exactly",
    ),
    ("do: kill", "do: cut", "7: faults[0].target: unknown verb for driver 'cut'"),
    (
        "written",
        "decided",
        "8: faults[0].when: no batch of UpsertTable reaches decided; use one of",
    ),
    (
        "do: kill\n    target: driver",
        "do: damage\n    target: checkpoint:unaligned",
        "8: faults[0].when: the newest batch must be committed; write failpoint: commit_logged",
    ),
    ("target: driver", "target: task", "8: faults[0].when: a task is struck at a step of a task"),
    ("target: driver", "target: executor", "8: faults[0].when: the driver waits at written, not"),
    (
        "batch: 3",
        "batch: -1",
        "8: faults[0].when.batch: invalid value -1; use the number of a bat",
    ),
    ("written", "writen", "8: faults[0].when.failpoint: unknown value 'writen'; did you mean 'wri"),
    ("batch: 3", "visible: 3", "8: faults[0].when: invalid moment failpoint and visible; use"),
    (
        "failpoint: written, batch: 3",
        "",
        "8: faults[0].when: invalid moment nothing; use exactly one of",
    ),
    (
        "failpoint: written, batch: 3",
        "committed: 1",
        "8: faults[0].when.committed: invalid value 1",
    ),
    (
        "failpoint: written, batch: 3",
        "after_s: 5",
        "8: faults[0].when.after_s: unknown key 'after",
    ),
]
ADDITIONS = [
    ("trigger: continuous 1 second", "9: trigger: a continuous trigger has no batches"),
    ("trigger: {continuous: 1 second}", "9: trigger: a continuous trigger has no batches"),
    ("trigger: soon", "9: trigger: invalid value 'soon'; use a time such as 6 seconds"),
    ("state_store: rocks", "9: state_store: unknown value 'rocks'; did you mean 'rocksdb'?"),
    ("max_offsets: true", "9: max_offsets: invalid value True; use a whole number of at least 1"),
    ("max_offsets: 2026-13-45", "9: max_offsets: invalid value '2026-13-45' with the tag"),
    (
        "hold_to: exactly_once",
        "9: hold_to: unknown value 'exactly_once'; did you mean 'exactly-once",
    ),
    ("claims: UNKNOWN", "9: claims: unknown value 'UNKNOWN'; choose one of FAIL, PASS"),
    ("claims: FAIL", "9: claims: FAIL names no anomalies"),
    ("anomalies: [lost]", "9: anomalies: claims: PASS forbids the anomalies lost"),
    ("claims: FAIL\nanomalies: [torn]", "10: anomalies: torn cannot fail a run held to"),
    (
        "claims: FAIL\nanomalies: [duplicate]",
        "10: anomalies[0]: unknown value 'duplicate'; did you mean 'dup",
    ),
    ("restart: none", "9: restart: none restarts the job 0 times, but its driver is struck 1"),
    ("lives: forever", "9: lives: unknown value 'forever'; choose one of in_turns, until_stopped"),
    (
        "lives: in_turns",
        "9: lives: app_views runs until it is stopped; omit lives, or use a job of yours",
    ),
    ("ends: lost", "9: ends: unknown value 'lost'; choose one of failed, over"),
    (
        "last_words: gone",
        "9: last_words: is only for a job that must fail; write ends: failed",
    ),
    (
        "ends: failed\nlast_words: (",
        "10: last_words: invalid value '('; use a regular expression (missing )",
    ),
    ("restart: {attempts: 3}", "9: restart: strategy is missing; write one of none, fixed-delay"),
    (
        "restart: {strategy: fixed}",
        "9: restart.strategy: unknown restart strategy 'fixed'; did you mean 'fixe",
    ),
    ("restart: {strategy: none, delay_s: 1}", "9: restart.delay_s: unknown key 'delay_s'"),
    ("restart: {strategy: fixed-delay, delay_s: .nan}", "9: restart.delay_s: invalid value nan"),
    ("limits: {run_s: 1.5}", "9: limits.run_s: invalid value 1.5; use a whole number of at least"),
    ("limits: 300", "9: limits: invalid value 300; use a mapping"),
    ("source: taken", "9: source: unknown value 'taken'; did you mean 'taken_once'"),
    ("source: taken_once", "9: source: app_views cannot read a source without replay"),
    ("source_options: [a]", "9: source_options: invalid value [...]; use a mapping"),
    ("source_options: 3", "9: source_options: invalid value 3; use a mapping"),
    ("source_options: {a: [b]}", "9: source_options.a: invalid value [...]; use a text, a num"),
    (
        "tags: quick",
        "9: tags: invalid value 'quick'; use a list: [...], or lines that begin with -",
    ),
    (
        "tags: [!!python/name:os.system x]",
        "9: tags[0]: invalid value 'x' with the tag tag:yaml.org",
    ),
    ("<<: {tags: [quick]}", "9: <<: unknown key"),
]


@pytest.mark.parametrize(("sound", "bad", "message"), CHANGES, ids=[one[1] for one in CHANGES])
def test_a_mistake_has_its_line_and_key(sound, bad, message):
    assert f"mine.yaml:{message}" in refused(SOUND.replace(sound, bad, 1))


@pytest.mark.parametrize(("line", "message"), ADDITIONS, ids=[one[0] for one in ADDITIONS])
def test_an_invalid_field_has_its_line(line, message):
    assert f"mine.yaml:{message}" in refused(f"{SOUND}{line}\n")


@pytest.mark.parametrize(
    ("sound", "bad", "message"),
    [
        (
            "{topic}",
            "{topik}",
            "3: pipeline.command[2]: unknown placeholder 'topik'; did you m",
        ),
        (
            "--window={window}",
            "x",
            "5: pipeline.options.window: the command does not con",
        ),
        ("options: {window", "options: {topic", "5: pipeline.options.topic: is a reserved name"),
        (
            "app_views:REF",
            "nowhere:REF",
            "4: pipeline.reference: reference 'onceproof.references.n",
        ),
        (
            "sink:",
            "max_offsets: 5\nsink:",
            "6: max_offsets: has no effect, as the command does not contain {max",
        ),
        (
            "{topic}",
            "failOnDataLoss=False",
            "2: pipeline: failOnDataLoss is false although the run is h",
        ),
        (
            "window: 4 s",
            "window: 4 s, failOnDataLoss: false",
            "2: pipeline: failOnDataLoss is false",
        ),
        (
            "  reference:",
            "  referense:",
            "4: pipeline.referense: unknown key 'referense'",
        ),
        (
            "{topic}",
            "{topic",
            "3: pipeline.command[2]: '{topic' has a bracket outside of a placeholder",
        ),
        ("{topic}", "{topic!r}", "3: pipeline.command[2]: unknown placeholder 'topic!r'; did"),
        (
            "[python,",
            "[python, 4,",
            "3: pipeline.command[1]: invalid value 4; use a text, in quot",
        ),
        (
            "onceproof.references.app_views",
            "tests.unit.broken_module",
            "4: pipeline.reference: 'test",
        ),
        (
            "sink:",
            "source_options: [a]\nsink:",
            "6: source_options: invalid value [...]; use a mapping",
        ),
        ("mine__", "Mine__", "1: name: invalid value 'Mine__upsert_table__calm'"),
    ],
)
def test_a_job_of_a_user_is_checked(sound, bad, message):
    assert f"mine.yaml:{message}" in refused(JOB.replace(sound, bad, 1))


def test_input_may_be_lost_under_at_most_once():
    text = JOB.replace("{topic}", "failOnDataLoss=false") + "hold_to: at-most-once\n"
    assert read(text)[0].claim.promise.guarantee is Guarantee.AT_MOST_ONCE


def test_all_mistakes_of_a_file_are_reported_at_once():
    message = refused(
        SOUND.replace("app_views\n", "app\n").replace("driver\n", "x\n") + "claims: no\n"
    )
    assert message.startswith("mine.yaml has 3 mistakes:\n  mine.yaml:2: pipeline:")
    assert "mine.yaml:7: faults[0].target:" in message
    assert "mine.yaml:9: claims:" in message


def test_a_mistake_in_the_defaults_is_reported_once():
    names = (
        "scenarios:\n- name: app_views__upsert_table__calm\n- name: app_views__upsert_table__calm_2"
    )
    message = refused(f"defaults: {{pipeline: app_views, sink: upsert_table, tags: 1}}\n{names}\n")
    assert message.startswith("mine.yaml:1: defaults.tags: ")
    assert message.count("mine.yaml") == 1


def test_an_invalid_default_is_reported_although_each_scenario_overrides_it():
    text = "defaults: {workload: 3}\nscenarios:\n- {name: copy_events__upsert_table__calm,"
    text += " pipeline: copy_events, sink: upsert_table, workload: {events: 100}}\n"
    assert refused(text).startswith("mine.yaml:1: defaults.workload: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.yaml is empty; write a scenario"),
        ("- 1\n", "mine.yaml:1: invalid value [...]; use a mapping"),
        ("scenarios: []\n", "mine.yaml:1: scenarios: is empty; write"),
        (
            "scenarios: [x]\ndefault: {}\n",
            "mine.yaml:2: default: unknown key 'default'",
        ),
        ("defaults: {name: x}\nscenarios: [{}]\n", "mine.yaml:1: defaults.name: cannot be shared"),
        ("a: &x [*x]\n", "mine.yaml:1: a: unknown key"),
        (f"scenarios:\n- {{name: {'x' * 9}}}\n---\n", "mine.yaml:3: invalid YAML:"),
    ],
)
def test_a_file_without_scenarios_is_refused(text, message):
    assert message in refused(text)


def test_two_scenarios_of_one_name_are_refused():
    one = "  - {name: app_views__upsert_table__calm}\n"
    text = f"defaults: {{pipeline: app_views, sink: upsert_table}}\nscenarios:\n{one}{one}"
    assert "mine.yaml:4: scenarios[1].name: duplicate" in refused(text)


@pytest.mark.parametrize("verb", ["raise", "start"])
def test_a_fault_on_a_waiting_driver_needs_a_step_at_which_it_waits(verb):
    text = SOUND.replace("do: kill", f"do: {verb}", 1)
    assert read(text)
    for when in ("failpoint: task_mid", "failpoint: commit_logged", "batch: 3"):
        said = refused(text.replace("failpoint: written, batch: 3", when))
        assert f"8: faults[0].when: {verb} needs a driver that waits; use a failpoint" in said


@pytest.mark.parametrize("step", [None, "commit_logged"])
def test_a_transaction_is_hijacked_while_a_process_waits(step):
    sink = find_sink("two_phase_topic")
    assert "a transaction that waits" in misplaced("hijack", "transaction", step, sink)
    assert not misplaced("hijack", "transaction", "pre_committed", sink)


def test_a_query_that_the_sink_does_not_support_is_refused():
    assert "3: sink: spark_files" in refused(SOUND.replace("upsert_table", "spark_files"))


def test_spark_s_own_files_take_no_query_whose_state_would_be_lost():
    word = "spark.sql.streaming.stateStore.checkpointFormatVersion=2"
    text = JOB.replace("--window={window}", f"--conf={word}").replace(
        "  options: {window: 4 s}\n", ""
    )
    text = text.replace("app_views", "sliding_counts")
    assert read(text)
    refusal = refused(text.replace("upsert_table", "spark_files"))
    assert "2: pipeline: the state's checkpointFormatVersion" in refusal
    assert read(text.replace("upsert_table", "spark_files").replace("Version=2", "Version=1"))
    assert read(
        text.replace("upsert_table", "spark_files").replace("sliding_counts", "copy_events")
    )


def test_a_sink_with_atomic_batches_shows_no_rows_of_an_open_one():
    text = SOUND.replace("upsert_table", "whole", 1).replace(
        "sink: upsert_table", f"sink: {__name__}:Whole"
    )
    refusal = refused(text.replace("failpoint: written, batch: 3", "visible: 5"))
    assert "8: faults[0].when: " in refusal
    assert f"{__name__}:Whole" in refusal


class Whole:
    family, store, writes = "two_phase", "memory", "append"
    guarantee, atomic_batches, ordered = Guarantee.EXACTLY_ONCE, True, False
    modes, steps = ("update",), ()
    prepare = write = recover = open = reader = read = drop = None


def test_a_command_without_words_is_refused():
    text = JOB.replace(JOB.splitlines()[2], "  command: []")
    assert "mine.yaml:3: pipeline.command: is empty" in refused(text)


@pytest.mark.parametrize("words", ["--deploy-mode, cluster", "--deploy-mode=cluster"])
def test_a_command_whose_driver_runs_elsewhere_is_refused(words):
    text = JOB.replace(JOB.splitlines()[2], f"  command: [spark-submit, {words}, job.py]")
    assert "mine.yaml:3: pipeline.command: " in refused(text)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_file_is_read_or_refused_without_a_crash(data):
    text = data.draw(st.sampled_from([SOUND, JOB, "defaults: {tags: []}\nscenarios: [{{}}]"]))
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(begin, min(len(text), begin + 8)))
        bits = [
            "",
            "[",
            "]",
            "{",
            "}",
            ": ",
            "- ",
            "\n",
            "*a",
            "&a ",
            "? ",
            "!!",
            "<<",
            "~",
            "0",
            "'",
        ]
        text = text[:begin] + data.draw(st.sampled_from(bits)) + text[end:]
    with contextlib.suppress(RequestError):
        read(text)


STRANGER = """\
name: orders__table__kill_driver
pipeline:
  command: [spark-submit, "{here}/orders.py", "{topic}", "{checkpoint}", "{jdbc}", "{target}"]
  reference: each_once
  key: [order_id]
workload: {name: template, value: {order_id: id}}
sink: table
faults:
  - {do: kill, target: driver, when: {visible: 50, batch: 3}}
"""


def test_an_unmodified_job_takes_a_few_lines():
    (found,) = read(STRANGER)
    assert found.claim.promise.guarantee is Guarantee.EXACTLY_ONCE
    assert (found.query.starting, found.output.declared) == ("earliest", {"key": ("order_id",)})
    assert (found.input.options["events"], found.input.options["sentinel"]) == (20_000, "")


@pytest.mark.parametrize(
    ("sound", "bad", "message"),
    [
        ("each_once", "each_onc", "4: pipeline.reference: unknown value 'each_onc'; did you"),
        (
            "  key: [order_id]\n",
            "",
            "4: pipeline.reference: the key of the output for each_once is mis",
        ),
        (
            "key: [",
            "columns: {a: int}\n  key: [",
            "4: pipeline.reference: each_once has only the k",
        ),
        ("key: [", "columns: {a: money}\n  key: [", "5: pipeline.columns.a: unknown value 'money'"),
        (
            "key: [",
            "from: {order_id: header}\n  key: [",
            "5: pipeline.from.order_id: invalid value 'header'",
        ),
        (
            "key: [",
            "starting: now\n  key: [",
            "5: pipeline.starting: unknown value 'now'",
        ),
        ("order_id: id", "order_id: number", "6: workload: field order_id: invalid type 'number'"),
        (", value: {order_id: id}", "", "6: workload: value is missing; write value: ... (the fi"),
        (
            "sink: table",
            "sink: {name: table, tabel: x}",
            "7: sink.tabel: unknown key 'tabel'; did you mean 'table'",
        ),
        (
            "sink: table",
            "sink: {name: parquet, folder: 2024}",
            "7: sink.folder: invalid value 2024; use",
        ),
        (
            "sink: table",
            "sink: {name: rows, read: 3}",
            "7: sink.read: invalid value 3",
        ),
        (
            "visible: 50,",
            "failpoint: written,",
            "9: faults[0].when: no batch of table",
        ),
        (
            "kill, target: driver",
            "lose, target: commit",
            "9: faults[0].when: the newest batch must be",
        ),
        (
            "each_once\n  key: [order_id]\nw",
            "calm\n  key: [order_id]\nw",
            None,
        ),
        (
            "sink: table",
            "sink: {name: table, table: public.orders}",
            None,
        ),
    ],
)
def test_its_mistakes_are_reported_at_their_line(sound, bad, message):
    text = STRANGER.replace(sound, bad, 1)
    if message is None:
        assert read(text)
    else:
        assert f"mine.yaml:{message}" in refused(text)


def test_a_calm_run_needs_an_output_that_is_empty_again():
    theirs = STRANGER.replace("each_once", "calm").replace(
        "sink: table", "sink: {name: table, table: public.orders}"
    )
    assert "7: sink: the reference calm" in refused(theirs)
    assert read(theirs.replace("orders}", "orders, empty: true}"))


STATELESS = """\
name: copy_events__append_topic__struck
pipeline: copy_events
sink: append_topic
workload: {partitions: 4}
faults:
  - {do: kill, target: store, when: {batch: 3}}
"""


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "do: stop, target: 'store:postmaster', when: {batch: 3}",
            "target: store:postmaster cannot be stopped alone; use do: kill or do: pause, or targe",
        ),
        (
            "do: cut, target: store, how: {from: brokers}, when: {batch: 3}",
            "how.from: 'brokers' never connects to the store; use one of anyone,",
        ),
        (
            "do: cut, target: store, how: {from: 'broker:2'}, when: {batch: 3}",
            "how.from: 'broker:2' never connects to the store; use one of anyone,",
        ),
        (
            "do: delay, target: store, how: {from: producer}, when: {batch: 3}",
            "how.from: 'producer' never connects to the store; use one of anyone,",
        ),
        (
            "do: hijack, target: transaction, when: {failpoint: written, batch: 3}",
            "target: AppendTopic writes records without a transaction; use another target",
        ),
        (
            "do: kill, target: 'broker:coordinator', when: {batch: 3}",
            "target: AppendTopic writes records without a transaction; use another target",
        ),
        (
            "do: damage, target: 'checkpoint:state_lost', when: {failpoint: commit_logged}",
            "target: copy_events keeps no state to damage; use app_views,",
        ),
        (
            "do: grow, target: input, how: {partitions: 4}, when: {batch: 3}",
            "how.partitions: 4 is out of range: the input already has 4 partitions; use at least",
        ),
    ],
)
def test_a_fault_without_effect_is_refused(fault, message):
    text = STATELESS.replace("do: kill, target: store, when: {batch: 3}", fault)
    assert f"mine.yaml:6: faults[0].{message}" in refused(text)


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ("append_topic, partitions: many", "partitions: invalid value 'many'; use a whole number"),
        (
            "append_topic, partition: 4",
            "partition: append_topic has the options partitions, kafka.",
        ),
        ("two_phase_topic, when_lost: go", "when_lost: unknown value 'go'; choose one of go_on"),
        (
            "two_phase_topic, transaction_timeout_ms: 1",
            "transaction_timeout_ms: invalid value 1; us",
        ),
    ],
)
def test_options_of_a_topic_are_read_at_their_line(sink, message):
    text = refused(STATELESS.replace("sink: append_topic", f"sink: {{name: {sink}}}"))
    assert f"mine.yaml:3: sink.{message}" in text


def test_similar_faults_with_an_effect_are_accepted():
    assert read(STATELESS)
    for fault in ("do: grow, target: input, how: {partitions: 5}", "do: pause, target: store"):
        assert read(STATELESS.replace("do: kill, target: store", fault))
    assert read(STATELESS.replace("target: store", "target: 'store:postmaster'"))
    assert read(STATELESS.replace("do: kill", "do: cut, how: {from: driver}"))


def test_a_folder_of_the_user_is_never_filled():
    own = STRANGER.replace("__table__", "__parquet__").replace("sink: table", "sink: parquet")
    own = own.replace("do: kill, target: driver", "do: fill, target: output")
    assert read(own)
    said = refused(own.replace("sink: parquet", "sink: {name: parquet, folder: out}"))
    assert "9: faults[0].target: the output folder is yours and not on a disk of the run" in said
