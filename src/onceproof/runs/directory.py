"""The layout of a run's directory, as data, for every part that writes or reads one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunDirectory:
    """One run: all that was planned, done and found, in `runs/<scenario>/<utc>-<seed>/`."""

    root: Path

    @property
    def plan(self) -> Path:
        """Scenario, seed, versions and faults: enough to replay."""
        return self.root / "plan.json"

    @property
    def history(self) -> Path:
        """What happened, one record a line."""
        return self.root / "history.jsonl"

    @property
    def reads(self) -> Path:
        """Folder of parquet: what the reader saw during the faults."""
        return self.root / "reads"

    @property
    def ledger(self) -> Path:
        """Folder of parquet: what was sent, a row an event."""
        return self.root / "ledger"

    @property
    def sent(self) -> Path:
        """Written when all is sent, sentinel included: the next offset of each partition."""
        return self.ledger / "_sent.json"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the job under test, as its last attempt left it."""
        return self.root / "checkpoint"

    @property
    def checkpoint_log(self) -> Path:
        """The checkpoint's offsets/ and commits/, archived while the job ran."""
        return self.root / "checkpoint-log"

    @property
    def expected(self) -> Path:
        """Folder of parquet: what the reference says the sink should hold."""
        return self.root / "expected"

    @property
    def observed(self) -> Path:
        """Folder of parquet: what readers of the sink see after the end."""
        return self.root / "observed"

    @property
    def output(self) -> Path:
        """Folder that sinks of files write to, there until the run is released."""
        return self.root / "output"

    @property
    def differences(self) -> Path:
        """Folder of parquet: the rows that differ."""
        return self.root / "differences"

    @property
    def summary(self) -> Path:
        """The counts and samples of the differences."""
        return self.differences / "summary.json"

    @property
    def recomputed(self) -> Path:
        """What the references said beside the expected rows: late rows, state, times."""
        return self.root / "recomputed.json"

    @property
    def late(self) -> Path:
        """Folder of parquet: the late ledger, what the watermark dropped."""
        return self.root / "late"

    @property
    def prepared(self) -> Path:
        """Where the stack is, and what was made in it for this run."""
        return self.root / "prepared.json"

    @property
    def released(self) -> Path:
        """There when all that the run made outside this directory was taken back."""
        return self.root / "released"

    @property
    def calm(self) -> RunDirectory:
        """The run of the same seed without faults, where what it leaves is the expectation."""
        return RunDirectory(self.root / "calm")

    @property
    def failpoints(self) -> Path:
        """Folder of the steps at which faults wait, and of the marks that they were reached."""
        return self.root / "failpoints"

    @property
    def fenced(self) -> Path:
        """What the job's sink did against runs and attempts that were replaced, one a line."""
        return self.root / "fenced.jsonl"

    @property
    def private(self) -> Path:
        """Folder of what the job is started with, secrets among it; gone when it is released."""
        return self.root / "private"

    @property
    def ran_on(self) -> Path:
        """Folder of JSON: what each attempt of the job ran on."""
        return self.root / "ran-on"

    @property
    def engine(self) -> Path:
        """Folder of what Spark recorded of failures, one file an attempt."""
        return self.root / "engine"

    @property
    def spark_local(self) -> Path:
        """Folder of the job's temporary files, there until the run is released."""
        return self.root / "spark-local"

    @property
    def spark_recompute(self) -> Path:
        """Folder of the reference's temporary files, there until the run is released."""
        return self.root / "spark-recompute"

    def raw_log(self, attempt: int) -> Path:
        """Folder of Spark's event logs of one attempt, there until the run is released."""
        return self.spark_local / "events" / str(attempt)

    @property
    def executors(self) -> Path:
        """How many executors each later attempt of the job has, where a fault has rescaled it."""
        return self.root / "executors"

    @property
    def locks(self) -> Path:
        """Folder of the locks under which a phase is carried out once at a time."""
        return self.root / "locks"

    @property
    def apart(self) -> Path:
        """Folder that says which process carries out a phase."""
        return self.root / "apart"

    @property
    def logs(self) -> Path:
        """One file a process."""
        return self.root / "logs"

    @property
    def validation(self) -> Path:
        """What the expectations found."""
        return self.root / "validation.json"

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
