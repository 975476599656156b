"""One producer as a process, `python -m onceproof.producing ORDER`: it ends with its parent.

It holds the read end of a pipe whose other end only its parent has. Whatever kills the parent
closes that, and this process ends at once.
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

_TELL_EVERY_S = 0.1


class _Teller:
    """Prints the totals for the parent, now and then."""

    def __init__(self) -> None:
        self._now = (0, 0)
        self._next = 0.0

    def __call__(self, offered: int, acknowledged: int) -> None:
        self._now = (offered, acknowledged)
        if time.monotonic() >= self._next:
            self.tell()

    def tell(self) -> None:
        self._next = time.monotonic() + _TELL_EVERY_S
        os.write(sys.stdout.fileno(), b"%d %d\n" % self._now)


def main(order: Order) -> str:
    """Send what is ordered, and return what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the parent's to answer
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    options = order.options
    client = make_client(options, order.brokers, order.topic, order.patience_s)
    teller = _Teller()
    with closing(client):
        files = Path(order.folder) / f"part-{order.producer:03d}"
        sending = Sending(client, files, order.patience_s, teller)
        wrong = sending.run(_tables(order), options["rate"] / options["producers"])
    teller.tell()
    return wrong


def _tables(order: Order) -> Iterator[Sends]:
    workload = find_workload(order.workload)
    for events in workload.events(order.options, order.seed, order.producer):
        yield Sends(events, order.run, order.topic, order.partitions)


def _end_with_the_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Order.parse(sys.argv[1])) or 0)
