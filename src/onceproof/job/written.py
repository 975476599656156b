"""An output of a run while its job writes to it: its sink, its recovery, and its reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onceproof.job.reads_log import ReadsLog
from onceproof.job.recovery import Recovery
from onceproof.runs.flows import Flow
from onceproof.runs.history import History
from onceproof.sinks import Sink


class Written:
    """An output; only one thread at a time may poll its reader.

    The first of a run's outputs also takes the records of `fenced`, which all sinks of the job
    share.
    """

    def __init__(self, flow: Flow, sink: Sink, fenced: Path, waits: Callable[[], bool]) -> None:
        self.flow, self.sink = flow, sink
        self.recovery = Recovery(
            sink, History(flow.run.history, flow.run.about_output), fenced, waits
        )

    def read(self) -> None:
        """Open the reader."""
        self._look = self.sink.reader()
        self._reads = ReadsLog(self.flow.run, self._look)

    def poll(self) -> None:
        """Look once, and record it."""
        self._reads.poll_once()

    def close(self) -> None:
        """Look a last time, and close the reader."""
        self.poll()
        self._look.close()
