"""docs/mutants.md, made of what catches what."""

from pathlib import Path

from tests.mutants.of_judge import PLANTED
from tests.mutants.on_the_stack import IN_JOBS, ON_THE_STACK
from tests.mutants.planted import MUTANTS, caught

PAGE = Path(__file__).parents[2] / "docs/mutants.md"
HEAD = """# Broken on purpose

A check that cannot fail proves nothing. So before anybody believes a green verdict, sinks and
judge are broken on purpose, one planted fault at a time, and each fault must be caught: as what it
is, and by the crash point that should catch it. This page is made by `python -m tests.mutants`, and
a test holds it to what the mutants do.

## Sinks, in the model

Each mutant is a sink family with one fault, under the [model](sinks.md#a-store-of-your-own) of a
micro-batch engine. The crash point is the step that had been reached last when it was struck, by
the names of [failpoints](sinks.md#failpoints); `behind` one is between it and the next, and
`task_done 1/2` is the first of two tasks. *Catch* says how many of the schedules that strike there
catch the mutant: all of them, wherever one process moves at a time; where another driver moves, it
depends on that one's steps as well. *Also at* names every other point at which some schedule
catches it, and none but these does. The families without the fault pass all of these schedules.

"""
JUDGE = """
## The judge

Each mutant is the judge with one fault, and each is killed by a test of the judge that is there
for its own sake: a test runs that one on the mutant, and wants it to fail.

| fault | killed by |
|---|---|
"""
STACK = """
## Sinks, on the real stack

Sinks of PostgreSQL, files and Kafka with the same faults, in runs that are struck where it should
show and judged like any: `make prove PART=mutants` says in [results](results.md) how many were
called right. Those that are marked are tried in every test of the project, as jobs. Not here is
what takes more than one death of a driver to show (two drivers, attempts that wake late, a query
that cannot go on, a machine without power): these the model tries. That a file is synced before it
is renamed, which no killed process can show, is tried there by a power cut.

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
    told = (mutant.fault, of, where, seen, "yes" if mutant in IN_JOBS else "")
    return f"| {' | '.join(told)} |"


def row(mutant):
    found = caught(mutant)
    also = ", ".join(f"`{point}`" for point, (some, _) in found.items() if some)
    also = also.replace(f"`{mutant.at}`", "").replace(", ,", ",").strip(", ")
    told = (mutant.fault, mutant.family, mutant.struck_by, mutant.at, mutant.caught_as)
    return ROW.format(*told, *found[mutant.at], also)
