import shutil

import pytest

from onceproof.checkpoint.archive import Archive, queries
from onceproof.checkpoint.coverage import first_reads
from onceproof.runs.history import History
from onceproof.runs.records import Op, Outcome


class Checkpoint:
    def __init__(self, folder):
        self.folder = folder
        for name in ("offsets", "commits"):
            (folder / name).mkdir(parents=True)

    def plan(self, batch, end, watermark=0):
        head = f'{{"batchWatermarkMs":{watermark},"batchTimestampMs":1,"conf":{{}}}}'
        text = f'v1\n{head}\n{{"events":{{"0":{end}}}}}'
        (self.folder / "offsets" / str(batch)).write_text(text)

    def commit(self, batch, watermark=0):
        text = f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'
        (self.folder / "commits" / str(batch)).write_text(text)


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "checkpoint")


@pytest.fixture
def history(tmp_path):
    return History(tmp_path / "history.jsonl")


@pytest.fixture
def archive(tmp_path, checkpoint, history):
    return Archive(checkpoint.folder, tmp_path / "log", history)


def records(history):
    return [(one.op, one.batch, one.outcome) for one in history.read()]


def test_a_batch_is_recorded_when_its_files_are_seen_and_once(archive, checkpoint, history):
    checkpoint.plan(0, 10)
    archive.catch_up()
    checkpoint.commit(0)
    archive.catch_up()
    archive.catch_up()
    ok = Outcome.OK
    assert records(history) == [(Op.BATCH_OFFSETS, 0, ok), (Op.BATCH_COMMIT, 0, ok)]
    assert archive.newest == (0, 0)
    assert archive.position() == {"events": {"0": 10}}


def test_offsets_of_a_batch_come_before_its_commit_when_both_are_new(archive, checkpoint, history):
    checkpoint.plan(0, 10)
    checkpoint.commit(0)
    archive.catch_up()
    assert [op for op, *_ in records(history)] == [Op.BATCH_OFFSETS, Op.BATCH_COMMIT]


def test_a_file_that_spark_has_removed_stays_archived(archive, checkpoint, tmp_path):
    checkpoint.plan(0, 10)
    archive.catch_up()
    (checkpoint.folder / "offsets/0").unlink()
    archive.catch_up()
    assert (tmp_path / "log/offsets/0").exists()


def test_a_batch_with_other_contents_is_recorded_again_and_the_older_kept(
    archive, checkpoint, history, tmp_path
):
    checkpoint.plan(0, 10)
    archive.catch_up()
    checkpoint.plan(0, 7)
    archive.catch_up()
    assert [batch for _, batch, _ in records(history)] == [0, 0]
    assert '"0":10' in (tmp_path / "log/offsets/0~1").read_text()
    assert '"0":7' in (tmp_path / "log/offsets/0").read_text()


def test_a_damaged_file_is_recorded_as_failed_and_ignored(archive, checkpoint, history):
    (checkpoint.folder / "offsets/0").write_text("v1\n{")
    archive.catch_up()
    assert records(history) == [(Op.BATCH_OFFSETS, 0, Outcome.FAILED)]
    assert archive.newest == (-1, -1)


def test_a_new_instance_continues_the_archive(archive, checkpoint, history, tmp_path):
    checkpoint.plan(0, 10)
    archive.catch_up()
    second = Archive(checkpoint.folder, tmp_path / "log", history)
    second.catch_up()
    assert second.newest == (0, -1)


def begin(checkpoint, query, at=0):
    (checkpoint.folder / "metadata").write_text(f'{{"id":"{query}"}}')
    (checkpoint.folder / "sources/0").mkdir(parents=True, exist_ok=True)
    (checkpoint.folder / "sources/0/0").write_text(f'\0v1\n{{"events":{{"0":{at}}}}}')


def lose(checkpoint):
    shutil.rmtree(checkpoint.folder)
    return Checkpoint(checkpoint.folder)


def test_the_logs_of_a_lost_checkpoint_are_put_aside(archive, checkpoint, history):
    begin(checkpoint, "one")
    for batch, end in ((0, 10), (1, 20)):
        checkpoint.plan(batch, end)
    checkpoint.commit(0)
    archive.catch_up()
    checkpoint = lose(checkpoint)
    archive.catch_up()
    begin(checkpoint, "two", at=30)
    checkpoint.plan(0, 40)
    checkpoint.commit(0)
    archive.catch_up()
    assert archive.newest == (0, 0)
    assert archive.position() == {"events": {"0": 40}}
    assert [one.name for one in queries(archive.folder)] == ["query-1", "log"]
    (anew,) = [one for one in history.read() if one.op is Op.CHECKPOINT_ANEW]
    assert anew.proof["number"] == 2


def test_first_reads_have_the_query_and_the_skipped_records(archive, checkpoint):
    begin(checkpoint, "one")
    checkpoint.plan(0, 10)
    checkpoint.commit(0)
    checkpoint.plan(1, 20)
    archive.catch_up()
    checkpoint = lose(checkpoint)
    begin(checkpoint, "two", at=15)
    checkpoint.plan(0, 25)
    archive.catch_up()
    checkpoint = lose(checkpoint)
    begin(checkpoint, "three", at=30)
    checkpoint.plan(0, 40)
    archive.catch_up()
    found = first_reads(queries(archive.folder))
    assert [(one.begin, one.end, one.batch, one.query, one.is_read) for one in found] == [
        (0, 10, 0, 0, True),
        (10, 20, 1, 0, True),
        (20, 25, 0, 1, True),
        (25, 30, 0, 2, False),
        (30, 40, 0, 2, True),
    ]


def test_a_batch_removed_by_a_fault_is_recorded_when_it_is_written_again(
    archive, checkpoint, history
):
    checkpoint.plan(0, 10)
    checkpoint.commit(0)
    archive.catch_up()
    (checkpoint.folder / "commits" / "0").unlink()
    archive.accept_damage()
    assert archive.newest == (0, -1)
    checkpoint.commit(0)
    archive.catch_up()
    assert [op for op, *_ in records(history)][1:] == [Op.BATCH_COMMIT] * 2


def test_a_file_changed_by_a_fault_stays_archived_as_written(archive, checkpoint, history):
    checkpoint.plan(0, 10)
    archive.catch_up()
    checkpoint.plan(0, 5)
    archive.accept_damage()
    archive.catch_up()
    assert archive.position() == {}
    assert len(records(history)) == 1
    assert '"0":10' in (archive.folder / "offsets" / "0").read_text()
