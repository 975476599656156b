"""The text of the file that `onceproof init` writes; it is filled in by `starter`."""

# What a command must say, as placeholders, since each run has its own.
NEEDED = {
    "bootstrap": "the brokers' addresses",
    "topic": "the topic that it reads",
    "checkpoint": "the folder of its checkpoint",
}
TEXT = """\
# The driver of this job dies twice in the middle of its work and is started again from its
# checkpoint; then every key of the input must be in the output, and as often as it should be.
#
#   onceproof doctor THIS_FILE     says what is missing before anything starts
#   onceproof explain THIS_FILE    says in sentences what a run does and is judged by
#   onceproof run THIS_FILE        runs it, and judges it
name: {pipeline}__{kind}__crashes

pipeline:
  # Started in the run's directory. What stands in curly brackets is filled in for each run, so it
  # reads a topic of the run's own and keeps its checkpoint there; {{here}} is this file's folder.
  command:
{command}
  # each_once: every key of the input once in the output. Else `calm`, the same input without the
  # kill; or FILE.py:FUNCTION, of a DataFrame of events.
  reference: each_once
  key: {key}
  # Where the key stands in the input, unless it is a field of that name in the value's JSON object:
  # from: {{{first}: value.order.id}}      # or `key`, the record's key
  # What else of a row is compared, with its type, where the reference is `calm` or a function:
  # columns: {{amount: double}}
  # Nothing is sent before the query has looked where it begins: its startingOffsets may be either.
  starting: latest
  # What {{python}} is, where it is not the Python that Onceproof runs on:
  {python}

workload:
{workload}

sink:
{sink}

faults:
  # In its third batch, after the offsets are written and before it is committed.
  - {{do: kill, target: driver, when: {{batch: 2}}}}
  # Later once more: a batch is in the output whole, and only its commit is lost with the driver.
  - {{do: lose, target: commit, when: {{failpoint: commit_logged, batch: 4}}}}

limits: {{run_s: 180, stall_s: 60}}
"""
