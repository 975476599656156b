"""docs/explanation/mutants.md, made of what catches what."""

from pathlib import Path

from tests.mutants.of_judge import PLANTED
from tests.mutants.on_the_stack import IN_JOBS, ON_THE_STACK
from tests.mutants.planted import MUTANTS, caught

PAGE = Path(__file__).parents[2] / "docs/explanation/mutants.md"
HEAD = """# Mutation tests

A check that cannot fail proves nothing. So faults are planted in sinks and judge, one at a time,
and each must be detected: as the right class of error, and at the expected crash point. `python -m
tests.mutants` generates this page; a test compares it with the mutants.

## Sinks, in the model

Each mutant is a sink family with one fault, run in the
[model](../extend/sinks.md#a-store-of-your-own) of a micro-batch engine. The crash point is the
last step reached before the crash, named by its [failpoint](../extend/sinks.md#failpoints);
`behind` a step is between it and the next, and `task_done 1/2` is the first of two tasks. *Catch*
is the number of schedules with that crash point that detect the mutant: all of them where a single
process runs; where a second driver runs, it depends on that driver's steps too. *Also at* lists
every other crash point at which some schedule detects the mutant. The families without the fault
pass all of these schedules.

"""
JUDGE = """
## The judge

Each mutant is the judge with one fault. A test runs an existing test of the judge on the mutant,
and expects it to fail.

| fault | killed by |
|---|---|
"""
STACK = """
## Sinks, on the real stack

Sinks of PostgreSQL, files and Kafka with the same faults, in runs with a crash at the step where
the fault has an effect, judged like any other run. `make prove PART=mutants` counts the correct
verdicts in [results](../reference/results.md). The marked ones also run in `make test`, as jobs.
Faults that need more than one crash of a driver (two drivers, attempts that wake late, a query
that cannot continue, a power failure) run in the model only. A missing fsync before a rename,
which no killed process can show, is tested there by a power failure.

| fault | sink | struck | must be seen as | in every test |
|---|---|---|---|---|
"""
ROW = "| {} | `{}` | {} | `{}` | {} | {} of {} | {} |"


def page():
    lines = ["| fault | in | struck by | crash point | caught as | catch | also at |"]
    lines += ["|---|---|---|---|---|---|---|", *map(row, MUTANTS)]
    judge = [f"| {one.fault} | `{one.test}` |" for one in PLANTED]
    stack = map(on_the_stack, ON_THE_STACK)
    sinks = HEAD + "\n".join(lines) + "\n" + STACK + "\n".join(stack) + "\n"
    return sinks + JUDGE + "\n".join(judge) + "\n"


def on_the_stack(mutant):
    where = f"{mutant.verb} at `{mutant.point}`"
    of = f"{mutant.sink.family}, {mutant.sink.store}"
    seen = " and ".join(mutant.classes)
    cells = (mutant.fault, of, where, seen, "yes" if mutant in IN_JOBS else "")
    return f"| {' | '.join(cells)} |"


def row(mutant):
    found = caught(mutant)
    also = ", ".join(f"`{point}`" for point, (some, _) in found.items() if some)
    also = also.replace(f"`{mutant.at}`", "").replace(", ,", ",").strip(", ")
    cells = (mutant.fault, mutant.family, mutant.struck_by, mutant.at, mutant.caught_as)
    return ROW.format(*cells, *found[mutant.at], also)
