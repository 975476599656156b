"""Cost of Airflow for a run, and the time from its trigger to the first record in Kafka.

It runs one scenario, which kills a driver half-way through its commits, on one warm stack: by the
command line and through Airflow, in turns; the faster of each form counts. Then it measures the
time to parse each DAG's file, without the import of Airflow itself.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from onceproof.airflow.client import OVER, Airflow
from onceproof.machine.home import dags_folder, onceproof_home
from onceproof.machine.polling import wait_for
from onceproof.phases.plan import make_plan
from onceproof.phases.whole_run import execute_run
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.records import Op
from onceproof.scenario.catalogue import find_scenario
from onceproof.stacks.local.stack import LocalStack

TURNS = 3
RUN = "onceproof_run"
SCENARIO = "copy_events__two_phase_table__kill_driver"
READ = """
import runpy, sys, time
import airflow.sdk, airflow.providers.standard.operators.trigger_dagrun
import airflow.providers.standard.operators.hitl
began = time.monotonic()
runpy.run_path(sys.argv[1])
print(time.monotonic() - began)
"""


def by_command(stack: LocalStack, seed: int, folder: Path) -> dict:
    began = time.time()
    run = make_plan(find_scenario(SCENARIO), seed, folder)
    execute_run(run, stack.state.folder)
    return timings(run, began, time.time())


def by_airflow(airflow: Airflow, seed: int) -> dict:
    began = time.time()
    name = airflow.trigger(RUN, {"scenario": SCENARIO, "seed": seed})
    wait_for(lambda: airflow.state(RUN, name) in OVER, 300, "no end", every_s=0.2)
    ended = datetime.fromisoformat(airflow.get(f"dags/{RUN}/dagRuns/{name}")["end_date"])
    run = RunDirectory(Path(airflow.xcom(RUN, name, "judge", "verdict")["run"]))
    return timings(run, began, ended.timestamp())


def timings(run: RunDirectory, began: float, ended: float) -> dict:
    document = json.loads(run.verdict.read_text())
    if not document["as_claimed"]:
        sys.exit(f"{run.root}: {document['verdict']}: {document['reasons']}")
    first = next(
        one.wall
        for one in History(run.history).read()
        if one.op is Op.INPUT_PROGRESS and one.proof["acknowledged"]
    )
    return {"whole": ended - began, "first": first - began}


def reading(name: str) -> float:
    command = [sys.executable, "-W", "ignore", "-c", READ, dags_folder() / name]
    with tempfile.TemporaryDirectory() as home:
        env = os.environ | {"AIRFLOW_HOME": home}
        times = [subprocess.check_output(command, text=True, env=env) for _ in range(3)]
    return min(float(one.splitlines()[-1]) for one in times)


def main() -> None:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    home = onceproof_home() / "bench-airflow"
    found: dict[str, list[dict]] = {"command line": [], "Airflow": []}
    with (
        tempfile.TemporaryDirectory() as name,
        LocalStack.up(home, airflow_runs=Path(name) / "runs") as stack,
    ):
        airflow = Airflow.of(stack)
        for seed in range(TURNS):
            found["command line"].append(by_command(stack, seed, Path(name) / "runs"))
            found["Airflow"].append(by_airflow(airflow, seed))
    shutil.rmtree(home, ignore_errors=True)
    best = {form: min(of, key=lambda one: one["whole"]) for form, of in found.items()}
    print(f"{SCENARIO}, on a warm stack; the fastest of {TURNS} each, in turns\n")
    print("| run by | seconds | ratio | to the first acknowledged record, s |\n|---|---|---|---|")
    for form, one in best.items():
        ratio = one["whole"] / best["command line"]["whole"]
        soonest = min(each["first"] for each in found[form])
        print(f"| {form} | {one['whole']:.1f} | {ratio:.2f} | {soonest:.1f} |")
    print("\n| DAG file | seconds to read, beside Airflow's own imports |\n|---|---|")
    for path in sorted(dags_folder().glob("*.py")):
        print(f"| `{path.name}` | {reading(path.name):.2f} |")


if __name__ == "__main__":
    main()
