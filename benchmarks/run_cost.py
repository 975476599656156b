"""What a whole run costs: how much of it is not the stream itself, and what one kill adds.

argv: millions of events (default: 1). A calm run of `app_views` and the same with its driver killed
half-way, on one warm stack, in turns; the faster of two counts. Prints a table, and where the time
of each went, in seconds.
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
from onceproof.phases.whole_run import live_run
from onceproof.scenario.catalogue import find_scenario
from onceproof.stacks.local.stack import LocalStack

TURNS = 2
KILL = [{"do": "kill", "target": "driver", "when": {"committed": 0.5}}]
FORMS = {"calm": [], "kill_driver": KILL}


def scenario(folder: Path, form: str, events: int):
    file = folder / f"{form}.yaml"
    workload = {"events": events, "partitions": 4, "keys": 1000, "rate": 0}
    fields = {"name": f"app_views__upsert_table__{form}", "pipeline": "app_views"}
    fields |= {"sink": "upsert_table", "faults": FORMS[form], "workload": workload}
    fields |= {"max_offsets": events // 10, "limits": {"run_s": 600, "stall_s": 120}}
    file.write_text(yaml.safe_dump(fields))
    return find_scenario(str(file))


def turn(folder: Path, form: str, events: int, seed: int, home: Path) -> dict:
    run = make_plan(scenario(folder, form, events), seed, folder / "runs")
    began = time.monotonic()
    verdict = live_run(run, home)
    whole = time.monotonic() - began
    document = json.loads(run.verdict.read_text())
    if verdict.exit_code:
        sys.exit(f"{form}: {document['verdict']}: {document['reasons']}")
    phases = document["timings"]["phases"]
    return {"whole": whole, "phases": phases, "recovery": document["timings"]["recovery"]}


def main(millions: float) -> None:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    events, home = int(millions * 1e6), onceproof_home() / "bench-runs"
    turns: dict[str, list[dict]] = {form: [] for form in FORMS}
    with tempfile.TemporaryDirectory() as name, LocalStack.up(home):
        for seed in range(TURNS):
            for form in FORMS:
                turns[form].append(turn(Path(name), form, events, seed, home))
    shutil.rmtree(home, ignore_errors=True)
    best = {form: min(of, key=lambda one: one["whole"]) for form, of in turns.items()}
    calm = best["calm"]["whole"]
    print(f"{millions:g} million events of app_views into upsert_table, on a warm stack\n")
    print("| run | seconds | ratio | of them not the stream | recovery s |\n|---|---|---|---|---|")
    for form, of in best.items():
        share = 1 - of["phases"]["process"] / of["whole"]
        back = ", ".join(f"{seconds:.1f}" for seconds in of["recovery"].values()) or "-"
        print(f"| {form} | {of['whole']:.1f} | {of['whole'] / calm:.2f} | {share:.0%} | {back} |")
    print("\n| phase | " + " | ".join(best) + " |\n|---" * 1 + "|---" * len(best) + "|")
    for phase in best["calm"]["phases"]:
        print(
            f"| {phase} | "
            + " | ".join(f"{of['phases'][phase]:.1f}" for of in best.values())
            + " |"
        )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1)
