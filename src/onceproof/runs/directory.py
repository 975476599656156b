"""The layout of a run's directory, for every module that writes or reads one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class RunDirectory:
    """The files of one run, in `runs/<scenario>/<utc>-<seed>/`.

    In a run with several queries or outputs, each has its own folders in `queries/` and `outputs/`.
    With the names of a query and an output, the directory is that of the run as the two see it.
    """

    root: Path
    query: str = ""
    output_name: str = ""

    @property
    def _of_query(self) -> Path:
        return self.root / "queries" / self.query if self.query else self.root

    @property
    def _of_output(self) -> Path:
        return self.root / "outputs" / self.output_name if self.output_name else self.root

    @property
    def whole(self) -> RunDirectory:
        """The directory of the run as a whole."""
        return RunDirectory(self.root)

    @property
    def about_query(self) -> str:
        """The name of the query in records; empty in a run with one query."""
        return f"query:{self.query}" if self.query else ""

    @property
    def about_output(self) -> str:
        """The name of the output in records; empty in a run with one output."""
        return f"output:{self.output_name}" if self.output_name else ""

    @property
    def plan(self) -> Path:
        """Scenario, seed, versions and faults: enough to replay."""
        return self.root / "plan.json"

    @property
    def history(self) -> Path:
        """The history, one record a line."""
        return self.root / "history.jsonl"

    @property
    def reads(self) -> Path:
        """Folder of parquet: the rows that were visible during the faults."""
        return self._of_output / "reads"

    @property
    def ledger(self) -> Path:
        """Folder of parquet: the input, a row an event."""
        return self.root / "ledger"

    @property
    def sent(self) -> Path:
        """The next offset of each partition; written when all is sent, sentinel included."""
        return self.ledger / "_sent.json"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the job under test, as its last attempt left it."""
        return self._of_query / "checkpoint"

    @property
    def checkpoint_log(self) -> Path:
        """The checkpoint's offsets/ and commits/, archived while the job ran."""
        return self._of_query / "checkpoint-log"

    @property
    def expected(self) -> Path:
        """Folder of parquet: the rows that the reference expects."""
        return self._of_output / "expected"

    @property
    def observed(self) -> Path:
        """Folder of parquet: the rows that are visible after the end."""
        return self._of_output / "observed"

    @property
    def all_columns(self) -> Path:
        """Folder of parquet: the rows of observed/ with all columns, for suites of the output."""
        return self._of_output / "all-columns"

    @property
    def output(self) -> Path:
        """Folder that file sinks write to; removed by `release`."""
        return self.root / "output"

    @property
    def differences(self) -> Path:
        """Folder of parquet: the rows that differ."""
        return self._of_output / "differences"

    @property
    def summary(self) -> Path:
        """The counts and samples of the differences."""
        return self.differences / "summary.json"

    @property
    def recomputed(self) -> Path:
        """The output of the references beside the expected rows: late rows, state, times."""
        return self._of_output / "recomputed.json"

    @property
    def late(self) -> Path:
        """Folder of parquet: the events that the watermark dropped."""
        return self._of_output / "late"

    @property
    def prepared(self) -> Path:
        """The stack's addresses, and what was created in it for this run."""
        return self.root / "prepared.json"

    @property
    def released(self) -> Path:
        """Exists once everything that the run created outside this directory is removed."""
        return self.root / "released"

    @property
    def calm(self) -> RunDirectory:
        """The run of the same seed without faults, where its output is the expectation."""
        return replace(self, root=self.root / "calm")

    @property
    def failpoints(self) -> Path:
        """Folder of the armed failpoints, and of the marks that they were reached."""
        return self.root / "failpoints"

    @property
    def fenced(self) -> Path:
        """Actions of the job's sink against replaced runs and attempts, one a line."""
        return self.root / "fenced.jsonl"

    @property
    def private(self) -> Path:
        """Folder of the job's start data, secrets included; removed by `release`."""
        return self.root / "private"

    @property
    def ran_on(self) -> Path:
        """Folder of JSON: versions and files that each attempt of the job ran on."""
        return self.root / "ran-on"

    @property
    def engine(self) -> Path:
        """Folder of the extracts of Spark's event log, one file an attempt."""
        return self.root / "engine"

    @property
    def spark_local(self) -> Path:
        """Folder of the job's temporary files; removed by `release`."""
        return self.root / "spark-local"

    @property
    def spark_recompute(self) -> Path:
        """Folder of the reference's temporary files; removed by `release`."""
        return self.root / "spark-recompute"

    def raw_log(self, attempt: int) -> Path:
        """Return the folder of Spark's event logs of one attempt; removed by `release`."""
        return self.spark_local / "events" / str(attempt)

    @property
    def executors(self) -> Path:
        """The number of executors of later attempts of the job, after a fault rescaled it."""
        return self.root / "executors"

    @property
    def locks(self) -> Path:
        """Folder of locks: each phase runs once at a time."""
        return self.root / "locks"

    @property
    def processes(self) -> Path:
        """Folder of JSON: the process that runs each phase."""
        return self.root / "apart"

    @property
    def logs(self) -> Path:
        """Folder of logs, one file a process."""
        return self.root / "logs"

    @property
    def validation(self) -> Path:
        """The results of the suites of Great Expectations."""
        return self._of_output / "validation.json"

    @property
    def verdict(self) -> Path:
        """The verdict document."""
        return self.root / "verdict.json"

    @property
    def report(self) -> Path:
        """The report for people."""
        return self.root / "report.html"

    @property
    def junit(self) -> Path:
        """The findings as CI systems read them."""
        return self.root / "junit.xml"
