"""Schedules of the model per CPU second, by family and kind, in one process.

    python benchmarks/model_speed.py

It tries every switch between two drivers; the tests try a sample.
"""

import time

from tests.model.families import FAMILIES
from tests.model.schedules import (
    attempts_at_tasks,
    dozing_attempts,
    failures,
    lingering_attempts,
    pairs_of_crashes,
    power_cuts,
    single_crashes,
    sleeping_attempts,
    watched_crashes,
)
from tests.model.two_drivers import second_drivers

KINDS = (
    *(single_crashes, pairs_of_crashes, power_cuts, watched_crashes, failures),
    *(attempts_at_tasks, sleeping_attempts, dozing_attempts, lingering_attempts, second_drivers),
)


def main():
    print(f"{'family':16} {'kind':20} {'schedules':>9} {'a second':>9} {'exact':>9}")
    tried, seconds = 0, 0.0
    for name, family in FAMILIES.items():
        for kind in KINDS:
            before = time.process_time()
            outcomes = list(kind(family))
            took = time.process_time() - before
            exact = sum(one.is_exact for one in outcomes)
            rate = len(outcomes) / took
            print(f"{name:16} {kind.__name__:20} {len(outcomes):9,} {rate:9,.0f} {exact:9,}")
            tried, seconds = tried + len(outcomes), seconds + took
    print(f"{'all':33} {tried:9,} {tried / seconds:9,.0f}")


if __name__ == "__main__":
    main()
