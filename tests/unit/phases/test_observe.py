"""The final reads of a sink: until two agree; each is recorded, and the last one is kept."""

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from onceproof.errors import StackError
from onceproof.phases import observe as phase
from onceproof.phases.observe import observe
from onceproof.runs.directory import RunDirectory
from onceproof.runs.evidence import Evidence
from onceproof.runs.ledger import count_rows, read_rows
from onceproof.runs.parts import part_digest
from onceproof.runs.records import Op


class Changing:
    """A sink with a given number of rows at each read."""

    def __init__(self, *counts):
        self.counts = list(counts)

    def open(self):
        return 1, 7

    def read(self, folder):
        rows = self.counts.pop(0)
        if rows is None:
            raise StackError("the store is down")
        folder.mkdir()
        parquet.write_table(pa.table({"id": list(range(rows))}), folder / "rows.parquet")
        return rows, f"{rows:032x}"


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(phase, "_BETWEEN_S", 0)


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def proofs(run, op):
    return [dict(record.proof) for record in Evidence(run).of(op)]


@pytest.mark.parametrize(("counts", "reads"), [((3, 3, 9), [3, 3]), ((1, 2, 1, 1), [1, 2, 1, 1])])
def test_it_is_over_when_two_reads_in_a_row_agree(run, counts, reads):
    assert observe(run, Changing(*counts))
    assert [one["rows"] for one in proofs(run, Op.READ)] == reads
    assert count_rows(run.observed) == reads[-1]


def test_a_sink_that_keeps_changing_is_read_five_times(run):
    assert not observe(run, Changing(1, 2, 3, 4, 5, 6))
    assert [one["rows"] for one in proofs(run, Op.READ)] == [1, 2, 3, 4, 5]
    assert count_rows(run.observed) == 5


def test_open_transactions_are_recorded_and_a_second_call_reads_again(run):
    observe(run, Changing(3, 3))
    observe(run, Changing(4, 4))
    assert proofs(run, Op.SINK_OPEN) == [{"open": 1, "hidden": 7}] * 2
    assert count_rows(run.observed) == 4


def test_open_transactions_are_recorded_by_name_if_the_sink_has_names(run):
    sink = Changing(3, 3)
    sink.open_names = lambda: ["onceproof:orders:main:1:1:3:0:7"]
    observe(run, sink)
    assert proofs(run, Op.SINK_OPEN)[0]["names"] == ["onceproof:orders:main:1:1:3:0:7"]


def test_a_failed_read_is_recorded_and_the_previous_one_is_kept(run):
    with pytest.raises(StackError, match="store"):
        observe(run, Changing(3, None))
    assert proofs(run, Op.READ)[1] == {"why": "the store is down"}
    assert count_rows(run.observed) == 3


class Wide(Changing):
    """A sink whose rows have another column, which each read of all columns counts."""

    def read_all(self, folder):
        folder.mkdir()
        parquet.write_table(pa.table({"left": [len(self.counts)]}), folder / "rows.parquet")


def test_all_columns_are_read_between_the_two_reads_that_agree(run):
    assert observe(run, Wide(1, 2, 2), all_columns=True)
    assert read_rows(run.all_columns).to_pylist() == [{"left": 1}]
    assert read_rows(run.observed).column_names == ["id"]


def test_a_sink_without_other_columns_is_read_as_ever_for_suites_too(run):
    assert observe(run, Changing(3, 3, 3, 3), all_columns=True)
    assert [one["rows"] for one in proofs(run, Op.READ)] == [3, 3]
    assert read_rows(run.all_columns) == read_rows(run.observed)


def test_without_suites_of_the_output_only_the_compared_columns_are_read(run):
    observe(run, Wide(3, 3))
    assert not run.all_columns.exists()


def test_all_columns_are_of_the_part_whose_digest_is_recorded(run):
    observe(run, Wide(3, 3), all_columns=True)
    before = part_digest(run, "observed")
    parquet.write_table(pa.table({"left": [7]}), run.all_columns / "rows.parquet")
    assert part_digest(run, "observed") != before
