"""Cost of a run: its share outside the stream itself, the cost of one kill, and its tail.

Arguments: numbers of events (default: 20000 1000000). It makes a calm run of `app_views` and the
same with its driver killed half-way, on one warm stack, in turns; the faster of two counts. The
tail is the time from the job's last commit to the verdict, compared with the time from the start of
the job to its first commit. Prints tables; times are in seconds.
"""

import json
import logging
import shutil
import sys
import tempfile
import time
from pathlib import Path

import yaml

from onceproof.machine.home import onceproof_home
from onceproof.phases.plan import make_plan
from onceproof.phases.whole_run import execute_run
from onceproof.runs.history import History
from onceproof.runs.records import Op
from onceproof.scenario.catalogue import find_scenario
from onceproof.stacks.local.stack import LocalStack

TURNS = 2
SIZES = (20_000, 1_000_000)
MOST_RATIO = 0.4
MOST_S = {20_000: 3.0}
KILL = [{"do": "kill", "target": "driver", "when": {"committed": 0.5}}]
FORMS = {"calm": [], "kill_driver": KILL}


def scenario(folder: Path, form: str, events: int):
    file = folder / f"{form}_{events}.yaml"
    workload = {"events": events, "partitions": 4, "keys": 1000, "rate": 0}
    fields = {"name": f"app_views__upsert_table__{form}", "pipeline": "app_views"}
    fields |= {"sink": "upsert_table", "faults": FORMS[form], "workload": workload}
    fields |= {"max_offsets": events // 10, "limits": {"run_s": 600, "stall_s": 120}}
    file.write_text(yaml.safe_dump(fields))
    return find_scenario(str(file))


def turn(folder: Path, form: str, events: int, seed: int, home: Path) -> dict:
    run = make_plan(scenario(folder, form, events), seed, folder / "runs")
    began = time.monotonic()
    verdict = execute_run(run, home)
    ended = time.monotonic()
    document = json.loads(run.verdict.read_text())
    if verdict.exit_code:
        sys.exit(f"{form}: {document['verdict']}: {document['reasons']}")
    records = History(run.history).read()
    started = next(one.mono for one in records if one.op is Op.ATTEMPT_START)
    commits = [one.mono for one in records if one.op is Op.BATCH_COMMIT]
    ends = {one.actor: one.mono - commits[-1] for one in records if one.op is Op.PHASE_END}
    return {
        "whole": ended - began,
        "start": commits[0] - started,
        "tail": ended - commits[-1],
        "ends": ends | {"judge": ended - commits[-1]},
        **document["timings"],
    }


def table(head: list[str], rows: list[list[str]]) -> None:
    for cells in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(cells)} |")
    print()


def show(events: int, best: dict[str, dict]) -> None:
    print(f"{events:,} events of app_views into upsert_table, on a warm stack\n")
    seconds = MOST_S.get(events)
    limit = f"at most {MOST_RATIO:g}" + (f" and {seconds:g} s" if seconds else "")
    rows = []
    for form, of in best.items():
        ratio = of["tail"] / of["start"]
        is_held = ratio <= MOST_RATIO and (not seconds or of["tail"] <= seconds)
        rows.append(
            [
                form,
                f"{of['whole']:.1f}",
                f"{of['whole'] / best['calm']['whole']:.2f}",
                f"{1 - of['phases']['process'] / of['whole']:.0%}",
                ", ".join(f"{back:.1f}" for back in of["recovery"].values()) or "-",
                f"{of['start']:.1f}",
                f"{of['tail']:.1f}",
                f"{ratio:.2f}",
                "yes" if is_held else "no",
            ]
        )
    head = ["run", "seconds", "ratio", "of them not the stream", "recovery s"]
    table([*head, "start to first commit", "tail", "tail to start", limit], rows)
    names = [*best["calm"]["phases"], "judge"]
    rows = [
        [
            name,
            *(f"{of['phases'][name]:.1f}" if name in of["phases"] else "-" for of in best.values()),
            *(f"{of['ends'][name]:.1f}" if of["ends"][name] > 0 else "-" for of in best.values()),
        ]
        for name in names
    ]
    table(["phase", *best, *(f"{form}, end after the last commit" for form in best)], rows)


def main(sizes: tuple[int, ...]) -> None:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home = onceproof_home() / "bench-runs"
    with tempfile.TemporaryDirectory() as name, LocalStack.up(home):
        for events in sizes:
            turns: dict[str, list[dict]] = {form: [] for form in FORMS}
            for seed in range(TURNS):
                for form in FORMS:
                    turns[form].append(turn(Path(name), form, events, seed, home))
            show(
                events, {form: min(of, key=lambda one: one["whole"]) for form, of in turns.items()}
            )
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
