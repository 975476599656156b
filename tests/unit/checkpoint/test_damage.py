"""Every kind of damage to a checkpoint: its proof has the files, and the checks detect it."""

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
    """A checkpoint whose newest batch is committed, as when a fault damages it."""
    made = write_checkpoint(tmp_path / "checkpoint")
    remove(made / "offsets/3")
    return made


@pytest.fixture
def archive(tmp_path, checkpoint):
    return write_archive(checkpoint, tmp_path / "log")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not KINDS[kind].is_of_disk])
def test_damage_has_a_proof_and_is_detected(kind, checkpoint, archive):
    assert troubles(checkpoint, archive) == []
    proof = damage(checkpoint, kind, NEWEST)
    assert 0 < len(proof["files"]) <= min(proof["changed"], MAX_LISTED)
    assert all(one["before"] != one["after"] for one in proof["files"].values())
    assert troubles(checkpoint, archive) != []


def test_a_disk_that_is_not_the_checkpoints_own_cannot_be_lost(checkpoint):
    with pytest.raises(StackError, match="unmount"):
        damage(checkpoint, "disk_lost", NEWEST)
    assert (checkpoint / "metadata").exists()


def test_the_proof_is_size_and_digest_of_each_file_before_and_after(checkpoint):
    proof = damage(checkpoint, "commit_empty", NEWEST)
    size = "0 bytes, e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    [(name, change)] = proof["files"].items()
    assert (name, change["after"]) == ("commits/2", size)
    assert change["before"].startswith("34 bytes, ")


def test_a_commit_is_removed_with_or_without_its_checksums(checkpoint):
    assert list(damage(checkpoint, "commit_lost", NEWEST)["files"]) == [
        "commits/2",
        "commits/.2.crc",
    ]
    assert list(damage(checkpoint, "commit_checksum_left", 1)["files"]) == ["commits/1"]


def test_the_unaligned_checkpoint_keeps_commit_and_state_and_has_the_offsets_before(checkpoint):
    before = log.planned(checkpoint, 1).sources
    proof = damage(checkpoint, "unaligned", NEWEST)
    assert list(proof["files"]) == ["offsets/2", "offsets/.2.crc"]
    assert log.planned(checkpoint, 2).sources == before
    assert log.planned(checkpoint, 2).watermark_ms > log.planned(checkpoint, 1).watermark_ms
    assert troubles(checkpoint) == []  # without the archive it is not detected


def test_an_old_copy_ends_two_batches_before_in_its_state_too(checkpoint):
    damage(checkpoint, "old_copy", NEWEST)
    assert log.newest(checkpoint) == (0, 0)
    assert sorted(one.name for one in (checkpoint / "state/0/0").glob("*.delta")) == ["1.delta"]


def test_damage_that_needs_more_batches_is_refused(checkpoint):
    with pytest.raises(StackError, match="old_copy"):
        damage(checkpoint, "old_copy", 1)


def test_damage_that_changes_nothing_is_an_error(checkpoint):
    damage(checkpoint, "state_lost", NEWEST)
    with pytest.raises(StackError, match="state_lost"):
        damage(checkpoint, "state_lost", NEWEST)
