"""A producer as a process, `python -m onceproof.producing ORDER`, that exits with its parent.

It reads from a pipe whose write end only its parent has. However the parent exits, the pipe is
closed, and this process exits at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from onceproof.producing.children import Order
from onceproof.producing.clients import make_client
from onceproof.producing.rows import Sends
from onceproof.producing.sending import Sending
from onceproof.workloads import find_workload

_REPORT_EVERY_S = 0.1


class _Reporter:
    """Prints the totals for the parent, at most every `_REPORT_EVERY_S`."""

    def __init__(self) -> None:
        self._now = (0, 0)
        self._next = 0.0

    def __call__(self, offered: int, acknowledged: int) -> None:
        self._now = (offered, acknowledged)
        if time.monotonic() >= self._next:
            self.report()

    def report(self) -> None:
        self._next = time.monotonic() + _REPORT_EVERY_S
        os.write(sys.stdout.fileno(), b"%d %d\n" % self._now)


def main(order: Order) -> str:
    """Send the records of the order; return the error, empty on success."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    options = order.options
    client = make_client(options, order.brokers, order.topic, order.patience_s)
    reporter = _Reporter()
    with closing(client):
        files = Path(order.folder) / f"part-{order.producer:03d}"
        sending = Sending(client, files, order.patience_s, reporter)
        error = sending.run(_tables(order), options["rate"] / options["producers"])
    reporter.report()
    return error


def _tables(order: Order) -> Iterator[Sends]:
    workload = find_workload(order.workload)
    for events in workload.events(order.options, order.seed, order.producer):
        yield Sends(events, order.run, order.topic, order.partitions)


def _end_with_the_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Order.parse(sys.argv[1])) or 0)
