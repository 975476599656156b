"""Every kind of damage to a checkpoint is told by what it changes, and seen by the checks."""

import pytest

from onceproof.checkpoint import log
from onceproof.checkpoint.checks import troubles
from onceproof.checkpoint.damage import MAX_LISTED, damage
from onceproof.checkpoint.damage_kinds import KINDS
from onceproof.errors import StackError
from tests.unit.handwritten_checkpoint import remove, write_archive, write_checkpoint

NEWEST = 2


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint whose newest batch is committed, as faults find it."""
    made = write_checkpoint(tmp_path / "checkpoint")
    remove(made / "offsets/3")
    return made


@pytest.fixture
def archive(tmp_path, checkpoint):
    return write_archive(checkpoint, tmp_path / "log")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not KINDS[kind].is_of_disk])
def test_what_is_changed_is_told_by_its_bytes_and_seen_before_the_next_start(
    kind, checkpoint, archive
):
    assert troubles(checkpoint, archive) == []
    told = damage(checkpoint, kind, NEWEST)
    assert 0 < len(told["files"]) <= min(told["changed"], MAX_LISTED)
    assert all(one["before"] != one["after"] for one in told["files"].values())
    assert troubles(checkpoint, archive) != []


def test_a_disk_that_is_none_of_its_own_cannot_be_lost(checkpoint):
    with pytest.raises(StackError, match="unmount"):
        damage(checkpoint, "disk_lost", NEWEST)
    assert (checkpoint / "metadata").exists()


def test_the_proof_is_size_and_digest_of_each_file_before_and_after(checkpoint):
    told = damage(checkpoint, "commit_empty", NEWEST)
    size = "0 bytes, e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    [(name, change)] = told["files"].items()
    assert (name, change["after"]) == ("commits/2", size)
    assert change["before"].startswith("34 bytes, ")


def test_a_commit_is_taken_with_its_checksums_or_without(checkpoint):
    assert list(damage(checkpoint, "commit_lost", NEWEST)["files"]) == [
        "commits/2",
        "commits/.2.crc",
    ]
    assert list(damage(checkpoint, "commit_checksum_left", 1)["files"]) == ["commits/1"]


def test_the_unaligned_checkpoint_keeps_commit_and_state_and_has_the_offsets_before(checkpoint):
    before = log.planned(checkpoint, 1).sources
    told = damage(checkpoint, "unaligned", NEWEST)
    assert list(told["files"]) == ["offsets/2", "offsets/.2.crc"]
    assert log.planned(checkpoint, 2).sources == before
    assert log.planned(checkpoint, 2).watermark_ms > log.planned(checkpoint, 1).watermark_ms
    assert troubles(checkpoint) == []  # files alone do not tell


def test_an_old_copy_ends_two_batches_before_in_its_state_too(checkpoint):
    damage(checkpoint, "old_copy", NEWEST)
    assert log.newest(checkpoint) == (0, 0)
    assert sorted(one.name for one in (checkpoint / "state/0/0").glob("*.delta")) == ["1.delta"]


def test_what_has_not_enough_batches_behind_it_is_refused(checkpoint):
    with pytest.raises(StackError, match="old_copy needs batch 2, and the newest is 1"):
        damage(checkpoint, "old_copy", 1)


def test_damage_that_finds_nothing_is_no_damage(checkpoint):
    damage(checkpoint, "state_lost", NEWEST)
    with pytest.raises(StackError, match="found nothing"):
        damage(checkpoint, "state_lost", NEWEST)
