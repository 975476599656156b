"""`up` killed at moments spread over all of its life: the next `down` leaves nothing."""

import shutil
import time
from collections import Counter
from random import Random

from onceproof.machine.home import onceproof_home
from onceproof.stacks.state import LOCK
from tests.system.command import run, start
from tests.system.test_stack_life import left_of

ROUNDS = 60
SEED = 7


def prove() -> str:
    home = onceproof_home() / "prove-stack"
    began = time.monotonic()
    if run("up", "--home", home)[0] != 0:
        raise SystemExit("the stack does not come up")
    seconds = time.monotonic() - began
    run("down", "--home", home)
    rng = Random(SEED)
    reached: Counter[str] = Counter()
    for _ in range(ROUNDS):
        moment = rng.uniform(0, seconds)
        dying = start("up", "--home", home)
        time.sleep(moment)  # the moment is what is tried, not something waited for
        dying.kill()
        dying.communicate(timeout=60)
        reached[f"{len(list(home.glob('pids/*.json')))} started"] += 1
        code, _, said = run("down", "--home", home)
        if code != 0:
            raise SystemExit(f"down failed after {moment:.2f} s: {said}")
        if left := [one.arguments() for one in left_of(home)]:
            raise SystemExit(f"left after {moment:.2f} s: {left}")
        if files := [path.name for path in home.glob("*") if path.name != LOCK]:
            raise SystemExit(f"left after {moment:.2f} s: {files}")
    shutil.rmtree(home)
    moments = ", ".join(f"{name}: {count}" for name, count in sorted(reached.items()))
    return (
        f"`onceproof up` was killed {ROUNDS} times, at moments drawn from its {seconds:.1f} s "
        f"(seed {SEED}), and `down` run after each: no process and no file was left.\n\n"
        f"Members started when it died: {moments}."
    )
