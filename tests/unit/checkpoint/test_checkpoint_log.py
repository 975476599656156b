"""The checks of a checkpoint: every visible damage is reported, and a sound one has no problem."""

import json
import re
import shutil

import pytest
from jsonschema import validate

from onceproof.checkpoint.checks import troubles
from onceproof.checkpoint.coverage import committed_batches, position, ranges
from onceproof.checkpoint.log import first_offsets
from onceproof.checkpoint.picture import picture
from onceproof.cli import carry_out
from onceproof.errors import EvidenceError, RequestError
from tests.repo.tree import ROOT
from tests.unit.handwritten_checkpoint import (
    QUERY,
    commit,
    offsets,
    remove,
    state_file,
    write_archive,
    write_checkpoint,
    write_file,
)


def flip(path):
    """Flip one bit of a file without updating its checksums."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "the commit before the newest is gone": (
        lambda c: remove(c / "commits/1"),
        "commits/1 is missing between 0 and 2",
    ),
    "the two newest commits are gone": (
        lambda c: [remove(c / f"commits/{batch}") for batch in (1, 2)],
        "batch 1 was never committed, but offsets/3 exists",
    ),
    "all commits are gone": (
        lambda c: shutil.rmtree(c / "commits"),
        "batch 0 was never committed",
    ),
    "a commit is gone and its checksums are left": (
        lambda c: (c / "commits/2").unlink(),
        r"commits/2 is gone and \.2\.crc is left: .* remove both",
    ),
    "a commit is empty": (lambda c: write_file(c / "commits/2", ""), "commits/2 is empty"),
    "a commit is cut inside": (
        lambda c: write_file(c / "commits/2", commit(2)[:-4]),
        "commits/2 is not JSON, or was cut short",
    ),
    "a commit is cut after its version, which Spark takes": (
        lambda c: write_file(c / "commits/2", "v1"),
        "commits/2 has no 'nextBatchWatermarkMs'",
    ),
    "a commit has invalid state": (
        lambda c: write_file(c / "commits/2", commit(2, stateUniqueIds=[1])),
        "commits/2: stateUniqueIds is",
    ),
    "a commit of an unknown version": (
        lambda c: write_file(c / "commits/2", commit(2).replace("v1", "v9")),
        "commits/2 has the unknown version 'v9'",
    ),
    "offsets are gone where the commit is there": (
        lambda c: [remove(c / f"offsets/{batch}") for batch in (2, 3)],
        "offsets/2 is missing, but batch 2 was committed",
    ),
    "offsets in the middle are gone": (
        lambda c: remove(c / "offsets/1"),
        "offsets/1 is missing between 0 and 2",
    ),
    "offsets are empty": (lambda c: write_file(c / "offsets/3", "\n"), "offsets/3 is empty"),
    "offsets are torn": (
        lambda c: write_file(c / "offsets/3", offsets(3)[:-5]),
        "offsets/3 is not JSON, or was cut short",
    ),
    "the last line of offsets is lost": (
        lambda c: write_file(c / "offsets/3", offsets(3).rpartition("\n")[0]),
        "offsets/3 was cut short",
    ),
    "offsets have one source more": (
        lambda c: write_file(c / "offsets/3", offsets(3) + "\n-"),
        r"offsets/3 has 2 source\(s\), but offsets/0 has 1",
    ),
    "a number in offsets is edited": (
        lambda c: (c / "offsets/3").write_text(offsets(3).replace("40", "41")),
        "offsets/3 was changed after Spark wrote it",
    ),
    "offsets go back": (
        lambda c: write_file(c / "offsets/3", offsets(3, (29, 20))),
        "offsets/3 goes back: events-0 is at 29, but was at 30",
    ),
    "a partition has gone from the offsets": (
        lambda c: write_file(c / "offsets/3", offsets(3, (40,))),
        "events-1 is at 0, but was at 10",
    ),
    "the watermark goes back": (
        lambda c: write_file(c / "offsets/3", offsets(3, batchWatermarkMs=17999)),
        "offsets/3 has the watermark 17999, below 18000",
    ),
    "the watermark differs from that of the commit": (
        lambda c: write_file(c / "commits/2", commit(2, nextBatchWatermarkMs=28001)),
        "offsets/3 has the watermark 28000, but commits/2 has 28001",
    ),
    "metadata is gone": (lambda c: remove(c / "metadata"), "metadata is missing"),
    "metadata is empty": (lambda c: write_file(c / "metadata", ""), "metadata is not JSON"),
    "metadata names no query": (
        lambda c: write_file(c / "metadata", "{}"),
        "metadata has no 'id'",
    ),
    "the newest state file is gone": (
        lambda c: remove(state_file(c, 2, 1)),
        "state/0/1 has no version 3, which the commit of batch 2 needs",
    ),
    "a state file has a flipped bit": (
        lambda c: flip(state_file(c, 2, 0)),
        "state/0/0/3.delta was changed after Spark wrote it",
    ),
    "a state file is cut": (
        lambda c: state_file(c, 1, 0).write_bytes(b"1 0"),
        "state/0/0/2.delta was changed after Spark wrote it",
    ),
    "a state file is gone and its checksums are left": (
        lambda c: state_file(c, 1, 0).unlink(),
        "state/0/0/2.delta is gone, and its checksums are left",
    ),
    "one partition is gone": (
        lambda c: shutil.rmtree(c / "state/0/1"),
        "state/0/1 is gone",
    ),
    "a partition holds nothing": (
        lambda c: [path.unlink() for path in (c / "state/0/1").iterdir()],
        "state/0/1 has no version 3",
    ),
    "an operator is gone, and a later one is there": (
        lambda c: (c / "state/0").rename(c / "state/1"),
        "state/0 is gone",
    ),
    "the operator's metadata is damaged": (
        lambda c: write_file(c / "state/0/_metadata/metadata", "v1\n{"),
        "state/0/_metadata/metadata is not JSON",
    ),
    "state is ahead of the offsets": (
        lambda c: write_file(state_file(c, 4, 0), "ahead"),
        "state/0/0 has version 5, but the offset log ends at batch 3",
    ),
}


@pytest.mark.parametrize(("damage", "problem"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_reported(tmp_path, damage, problem):
    checkpoint = write_checkpoint(tmp_path / "checkpoint")
    damage(checkpoint)
    found = troubles(checkpoint)
    assert [trouble for trouble in found if re.search(problem, trouble)], found


SINCE = {
    "an older copy was put back": (
        lambda c: [remove(c / "offsets/3"), remove(c / "commits/2")],
        ["offsets/3 was archived and is gone", "commits/2 was archived and is gone"],
    ),
    "the newest offsets and their commit are gone": (
        lambda c: [remove(c / "offsets/3")],
        ["offsets/3 was archived and is gone"],
    ),
    "offsets were written again": (
        lambda c: write_file(c / "offsets/3", offsets(3, (41, 20))),
        ["offsets/3 differs from the archive"],
    ),
    "the offsets are those of the previous batch": (
        lambda c: write_file(c / "offsets/3", offsets(3, (30, 10))),
        ["offsets/3 differs from the archive"],
    ),
    "another query's metadata": (
        lambda c: write_file(c / "metadata", json.dumps({"id": "other"})),
        [f"metadata has the id of query other, but the archive has {QUERY}"],
    ),
    "all of it is gone": (shutil.rmtree, ["there is no checkpoint in checkpoint"]),
}


@pytest.mark.parametrize(("damage", "problems"), SINCE.values(), ids=SINCE.keys())
def test_damage_is_found_by_comparison_with_the_archive(tmp_path, damage, problems):
    checkpoint = write_checkpoint(tmp_path / "checkpoint")
    archive = write_archive(checkpoint, tmp_path / "checkpoint-log")
    shutil.copy(checkpoint / "metadata", archive / "metadata")
    damage(checkpoint)
    found = troubles(checkpoint, archive)
    assert len(found) == len(problems), found
    assert all(trouble.startswith(text) for trouble, text in zip(found, problems, strict=True))


def test_state_must_have_the_id_in_the_commit(tmp_path):
    checkpoint = write_checkpoint(tmp_path, by_id=True)
    state = state_file(checkpoint, 2, 1, by_id=True)
    other = state.with_name(f"3_{'0' * 8}-0000-0000-0000-{'0' * 12}.changelog")
    write_file(other, state.read_bytes())
    remove(state)
    (problem,) = troubles(checkpoint)
    assert problem.startswith("state/0/1 ")
    assert problem.endswith(" commits/2")


@pytest.mark.parametrize("by_id", [False, True])
def test_a_sound_checkpoint_has_no_problem(tmp_path, by_id):
    checkpoint = write_checkpoint(tmp_path / "checkpoint", by_id=by_id)
    archive = write_archive(checkpoint, tmp_path / "checkpoint-log")
    assert troubles(checkpoint, archive) == []


@pytest.mark.parametrize(
    "text",
    [
        lambda batch: offsets(batch).rpartition("\n")[0] + f'\n{{"logOffset":{batch}}}\n-',
        lambda batch: offsets(batch).rpartition("\n")[0] + f"\n{batch * 100}",
        lambda batch: offsets(batch).rpartition("\n")[0] + '\n{"shard-0":{"at":"x"}}',
    ],
    ids=["files, and a source without data", "rate", "a shape of its own"],
)
def test_sources_other_than_kafka_are_sound_too(tmp_path, text):
    assert troubles(write_checkpoint(tmp_path, text=text)) == []


def test_the_oldest_batches_may_be_purged(tmp_path):
    checkpoint = write_checkpoint(tmp_path / "checkpoint")
    archive = write_archive(checkpoint, tmp_path / "checkpoint-log")
    remove(checkpoint / "offsets/0")
    remove(checkpoint / "commits/0")
    assert troubles(checkpoint, archive) == []


def test_a_purged_log_has_no_ranges(tmp_path):
    log = write_checkpoint(tmp_path)
    remove(log / "offsets/0")
    with pytest.raises(EvidenceError, match="purged"):
        committed_batches(log)


def test_a_log_without_a_commit_has_no_ranges(tmp_path):
    log = write_checkpoint(tmp_path)
    shutil.rmtree(log / "commits")
    with pytest.raises(EvidenceError, match="commit"):
        committed_batches(log)


def test_a_log_that_goes_back_has_no_ranges(tmp_path):
    log = write_checkpoint(tmp_path)
    write_file(log / "offsets/2", offsets(2, (19, 10)))
    with pytest.raises(EvidenceError, match="events-0"):
        ranges(committed_batches(log))


def test_ranges_have_the_records_that_each_batch_read(tmp_path):
    log = committed_batches(write_checkpoint(tmp_path))
    found = [(one.partition, one.begin, one.end, one.batch) for one in ranges(log)]
    assert found == [(0, 0, 10, 0), (1, 0, 5, 0), (0, 10, 20, 1), (1, 5, 10, 1), (0, 20, 30, 2)]
    assert position(log) == {("events", 0): 30, ("events", 1): 10}


def test_the_picture_shows_each_batch_with_its_state(tmp_path):
    found = picture(write_checkpoint(tmp_path))
    assert (found["query"], found["sound"]) == (QUERY, True)
    assert found["stores"] == ["state/0/0", "state/0/1"]
    last, planned = found["batches"][2:]
    assert (last["watermark_ms"], last["next_watermark_ms"]) == (18000, 28000)
    assert last["sources"] == [{"events": {"0": 30, "1": 10}}]
    assert last["state"] == {"state/0/0": ["3.delta"], "state/0/1": ["3.delta"]}
    assert (planned["planned"], planned["committed"], planned["state"]) == (True, False, {})


def test_a_damaged_checkpoint_has_a_picture(tmp_path):
    checkpoint = write_checkpoint(tmp_path)
    write_file(checkpoint / "offsets/1", "v1")
    remove(checkpoint / "metadata")
    found = picture(checkpoint)
    assert (found["query"], found["sound"]) == (None, False)
    (damaged,) = found["batches"][1]["damaged"]
    assert damaged.startswith("offsets/1 was cut short")


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(RequestError, match=r"offsets/"):
        picture(tmp_path)


def run_command(capsys, *words):
    code = carry_out(["checkpoint", *map(str, words)])
    return code, capsys.readouterr()


def test_the_exit_code_of_the_command_is_0_for_a_sound_checkpoint(tmp_path, capsys):
    checkpoint = write_checkpoint(tmp_path / "checkpoint")
    assert run_command(capsys, checkpoint)[0] == 0
    remove(checkpoint / "offsets/1")
    code, printed = run_command(capsys, checkpoint)
    assert code == 1
    assert "\noffsets/1 is missing between 0 and 2\n" in printed.out
    assert run_command(capsys, tmp_path / "nothing")[0] == 3


def test_the_command_compares_a_runs_checkpoint_with_its_archive(tmp_path, capsys):
    checkpoint = write_checkpoint(tmp_path / "checkpoint")
    write_archive(checkpoint, tmp_path / "checkpoint-log")
    remove(checkpoint / "offsets/3")
    code, printed = run_command(capsys, checkpoint)
    assert code == 1
    assert "offsets/3 was archived and is gone" in printed.out


def test_the_document_is_valid_by_its_schema(tmp_path, capsys):
    checkpoint = write_checkpoint(tmp_path)
    write_file(checkpoint / "offsets/1", "v1")
    code, printed = run_command(capsys, checkpoint, "--json")
    schema = json.loads((ROOT / "docs/schemas/checkpoint.json").read_text())
    validate(json.loads(printed.out), schema)
    assert code == 1


def test_first_offsets_are_known_when_the_source_has_recorded_them(tmp_path):
    noted = tmp_path / "sources/0/0"
    assert first_offsets(tmp_path) == {}
    noted.parent.mkdir(parents=True)
    noted.write_bytes(b"\0v1\n")
    assert first_offsets(tmp_path) == {}
    noted.write_bytes(b'\0v1\n{"events":{"0":5,"1":0}}')
    assert first_offsets(tmp_path) == {"events": {"0": 5, "1": 0}}
