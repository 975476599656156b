"""Nights whose scheduler and whose command are killed at random moments, on a busy machine.

Then `onceproof down`, and a look for processes that are left: by the limit that all of a night's
processes inherit (`tests.outliving`), by all that was seen alive before the kill, and by arguments,
working directories and open files below the stack's folder.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

import yaml

from onceproof.errors import StackError
from onceproof.machine.home import onceproof_home
from onceproof.machine.identity import PROC, Identity, all_processes
from onceproof.machine.polling import comes_true
from onceproof.machine.spawning import is_marked
from onceproof.stacks.state import LOCK, MARK, State
from tests.outliving import begin, describe, outliving
from tests.system.command import run, start

ROUNDS, SEED, BUSY = 20, 7, 2
LONGEST_S = 60.0  # by then the job runs, also on a busy machine
SCHEDULER = "airflow:scheduler"
FIRST = ("scheduler", "command")
FIELDS = {
    "name": "copy_events__two_phase_table__cut_off",
    "pipeline": "copy_events",
    "sink": "two_phase_table",
    "faults": [{"do": "kill", "target": "driver", "when": {"batch": 2}}],
    "max_offsets": 500,
    "workload": {"events": 2000, "partitions": 4, "rate": 400},
}


@dataclass(frozen=True)
class Round:
    """What was killed first, and when; how many processes lived then, how many of the stack's did
    not show its mark in their environment; what was left after `down`."""

    first: str
    after_s: float
    had_scheduler: bool
    lived: int
    hidden: int
    left: tuple[str, ...]


def visit(command: list[object], home: Path, rng: Random, longest_s: float) -> Round:
    """Start a night, kill it at a moment drawn from `rng`, take its stack down, and look."""
    first, after_s, between_s = rng.choice(FIRST), rng.uniform(0.5, longest_s), rng.uniform(0, 2)
    spared = set(outliving())
    night = start(*command)
    time.sleep(after_s)  # the moment is what is tried, not something waited for
    state = State.load(home)
    scheduler = state.identity(SCHEDULER) if state else None
    lived = set(outliving()) - spared
    hidden = [
        one
        for one in lived
        if state and is_marked(one, state.mark) and not one.has_environment(MARK, state.mark)
    ]
    for victim in FIRST if first == "scheduler" else FIRST[::-1]:
        if victim == "command":
            night.kill()
        elif scheduler is not None:
            scheduler.send(9)
        time.sleep(between_s)
    night.communicate(timeout=60)
    code, _, said = run("down", "--home", home)
    if code:
        raise StackError(f"down failed after {after_s:.1f} s: {said}")
    comes_true(lambda: not left_of(home, lived, spared), 20, every_s=0.5)
    left = tuple(map(describe, left_of(home, lived, spared)))
    left += tuple(str(path) for path in home.glob("*") if path.name != LOCK)
    return Round(first, after_s, scheduler is not None, len(lived), len(hidden), left)


def left_of(home: Path, lived: set[Identity], spared: set[Identity]) -> list[Identity]:
    """Return the living processes of a night, by every trace that one could have left."""
    known = {*outliving(), *lived} - spared
    return [one for one in all_processes() if one in known or uses(one, home)]


def uses(one: Identity, folder: Path) -> bool:
    try:
        works_in = str((PROC / f"{one.pid}/cwd").readlink())
    except OSError:
        works_in = ""
    return any(str(folder) in text for text in (*one.arguments(), works_in, *one.open_files()))


def prove() -> str:
    begin()
    home = onceproof_home() / "prove-nights-cut-off"
    rng, rounds = Random(SEED), []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "night.yaml"
        file.write_text(yaml.safe_dump(FIELDS))
        command = ["nightly", "--scenario", file, "--runs", folder / "runs", "--home", home]
        for _ in range(BUSY):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        began = time.monotonic()
        code, _, said = run(*command, timeout_s=600)
        if code:
            raise StackError(f"the night without a kill exited with {code}: {said}")
        longest_s = min(time.monotonic() - began, LONGEST_S)
        for _ in range(ROUNDS):
            rounds.append(visit(command, home, rng, longest_s))
            sys.stderr.write(f"{rounds[-1]}\n")
            if rounds[-1].left:
                raise StackError(f"{rounds[-1]}")
    return section(rounds, longest_s)


def section(rounds: list[Round], longest_s: float) -> str:
    """Return what docs/reference/results.md says of these rounds."""
    first = Counter(one.first for one in rounds if one.had_scheduler)
    orders = ", ".join(f"the {name} first {count}" for name, count in sorted(first.items()))
    return (
        f"{len(rounds)} nights whose scheduler and whose command were killed at moments of their"
        f" first {longest_s:.0f} s (seed {SEED}), beside {BUSY} busy processes:"
        f" {orders}; before a scheduler had started, the command alone:"
        f" {sum(not one.had_scheduler for one in rounds)}. Of {sum(one.lived for one in rounds)}"
        f" processes that lived at that moment, {sum(one.hidden for one in rounds)} belonged to the"
        " stack and did not show its mark in their environment. After `down` none of them lived,"
        " and none was found by the inherited limit, arguments, working directory or open files."
    )
