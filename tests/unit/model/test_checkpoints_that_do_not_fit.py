"""A checkpoint that is lost, old or changed is refused by every sink with a memory."""

import json

import pytest

from tests.model.engine import Run, live
from tests.model.families import FAMILIES
from tests.model.striking import Schedule, Sleepers
from tests.model.world import Disk, World

MESSAGES = {
    "lost": "of query first, but this checkpoint belongs to query second",
    "old": "batch 1 of writer model covered other offsets",
    "ahead": "batch 3 does not follow batch 0, the newest",
    "changed": "batch 3 does not begin where batch 2 of writer model ends",
}
REMEMBER = [name for name in FAMILIES if name != "append"]
CALM = Schedule()


@pytest.fixture(params=REMEMBER)
def family(request):
    return FAMILIES[request.param]


def ended(world, family, number=1):
    """Start one more run; return what it said at its end, and see that it changed nothing."""
    before = dict(world.seen)
    run = Run(world, number, family, CALM, Sleepers(0))
    is_over = run.live()
    assert is_over or dict(world.seen) == before
    return run.error


def test_a_lost_checkpoint_is_refused(family):
    world = World()
    live(world, family, CALM)
    world.disk = Disk("second")
    assert MESSAGES["lost"] in ended(world, family)


def test_an_old_copy_with_other_batches_is_refused(family):
    """The copy's next batch is planned anew, and has three rows where it had two."""
    world = World(rows=2)
    live(world, family, CALM)
    copy = world.disk.copy()
    world.rows = 6
    live(world, family, CALM)
    world.disk = copy
    world.rows = 8
    assert MESSAGES["old"] in ended(world, family)


def test_an_old_copy_with_the_same_batches_goes_on_without_a_trace(family):
    world = World(rows=4)
    live(world, family, CALM)
    world.disk.commits = {0}
    world.rows = 6
    live(world, family, CALM, first=2)
    assert (world.lost, world.duplicated, world.violations) == (0, 0, [])


def test_a_checkpoint_ahead_of_the_store_is_refused(family):
    """A store that came back from an older backup has lost what the checkpoint knows."""
    world = World()
    live(world, family, CALM)
    world.rows = 8
    for batch in (1, 2):
        del world.decisions[batch]
    world.journal = [text for text in world.journal if json.loads(text).get("batch", 0) == 0]
    assert MESSAGES["ahead"] in ended(world, family)


def test_offsets_that_were_changed_are_refused(family):
    """The unaligned checkpoint: a batch stays committed and gets the offsets of the one before."""
    world = World()
    live(world, family, CALM)
    world.disk.offsets[2] = world.disk.offsets[1]
    assert MESSAGES["changed"] in ended(world, family)
