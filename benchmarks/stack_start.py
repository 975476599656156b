"""Start time and memory of a stack, with and without quick settings.

Prints the median of three interleaved turns of each form, and the ratio to the first form.
"""

import shutil
import statistics
import time
from pathlib import Path

from onceproof.machine.home import onceproof_home
from onceproof.machine.identity import Identity
from onceproof.stacks.local.stack import LocalStack

TURNS = 3
FORMS = {"all of it, quick settings": {}, "all of it, as for throughput": {"is_quick": False}}
FORMS |= {"one broker": {"brokers": 1, "without": ["spark", "store"]}}
FORMS |= {"the store": {"without": ["kafka", "spark"]}}


def cpu_s(one: Identity) -> float:
    fields = Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / 100


def turn(folder: Path, form: dict) -> dict[str, float]:
    began = time.monotonic()
    stack = LocalStack.up(folder, **form)
    up = time.monotonic() - began
    try:
        pss = sum(member.pss_bytes for member in stack.status()) / 2**20
        cpu = sum(cpu_s(one) for one in stack.state.processes())
    finally:
        began = time.monotonic()
        stack.down()
    return {"up s": up, "CPU s": cpu, "MB": pss, "down s": time.monotonic() - began}


def main() -> None:
    folder = onceproof_home() / "bench-start"
    LocalStack.up(folder).down()  # so that nothing is made, and files are in the cache, below
    results: dict[str, list[dict[str, float]]] = {name: [] for name in FORMS}
    for _ in range(TURNS):
        for name, form in FORMS.items():
            results[name].append(turn(folder, form))
    shutil.rmtree(folder)
    first = None
    print("| Form | up s | CPU s | MB (PSS) | down s | up, ratio |\n|---|---|---|---|---|---|")
    for name, turns in results.items():
        middle = {key: statistics.median(one[key] for one in turns) for key in turns[0]}
        first = first or middle["up s"]
        cells = [f"{middle[key]:.1f}" for key in ("up s", "CPU s")]
        cells += [f"{middle['MB']:.0f}", f"{middle['down s']:.2f}", f"{middle['up s'] / first:.2f}"]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
