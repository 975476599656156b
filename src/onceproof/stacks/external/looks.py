"""How one sees from here whether a member of an external stack serves."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from onceproof.errors import OnceproofError, StackError
from onceproof.kafka.security import Brokers
from onceproof.stacks.external.file import External
from onceproof.stacks.members.brokers import ask
from onceproof.stacks.members.cluster import page_of
from onceproof.stacks.members.store import store_trouble

KAFKA = "kafka"  # all brokers together, however many there are
_ANSWERS_WITHIN_S = 2
_HOST = re.compile(r"spark://(.+):\d+")


def look_at(name: str, external: External) -> str:
    """Say what keeps a member from serving; empty if nothing does that could be seen."""
    named = external.members.get(name)
    try:
        return _LOOKS[name.partition(":")[0]](name, named.address if named else "", external)
    except (OSError, ValueError) as error:
        return f"it does not answer: {error}"
    except OnceproofError as error:  # a variable that is not set
        return str(error)
    except Exception as error:  # what kafka-python raises of its own and of its parts
        return f"{type(error).__name__}: {error}"


def _kafka(name: str, address: str, external: External) -> str:  # noqa: ARG001
    _cluster(external.brokers)
    return ""


def _broker(name: str, address: str, external: External) -> str:
    _refuse_deaf(address)
    found = _cluster(replace(external.brokers, addresses=(address,)))
    ids = [one["broker_id"] for one in found["brokers"]]
    return "" if int(name.partition(":")[2]) in ids else f"the cluster has the brokers {ids} only"


def _store(name: str, address: str, external: External) -> str:  # noqa: ARG001
    return store_trouble(external.store)


def _spark(name: str, address: str, external: External) -> str:  # noqa: ARG001
    """A page shows a process that stands still; a port alone does not, and `local` has neither."""
    if address:
        page_of(*_host_and_port(address))
    elif external.spark.startswith("spark://"):
        _refuse_deaf(external.spark.removeprefix("spark://").partition(",")[0])
    return ""


_LOOKS: Mapping[str, Callable[[str, str, External], str]] = {
    KAFKA: _kafka,
    "broker": _broker,
    "store": _store,
    "master": _spark,
    "worker": _spark,
}


def brokers_of(brokers: Brokers) -> dict[str, str]:
    """Return the addresses of the brokers that the cluster tells of, by their names as members."""
    found = _cluster(brokers)["brokers"]
    return {f"broker:{one['broker_id']}": f"{one['host']}:{one['port']}" for one in found}


def _cluster(brokers: Brokers) -> Any:
    """Return what the cluster says of itself; a client alone tells no wrong password from a death.

    kafka-python goes from one broker to the next until its time is up, whatever each has answered.
    """
    from kafka.errors import KafkaConnectionError, KafkaTimeoutError

    try:
        return ask(brokers, lambda client: client.describe_cluster())
    except (KafkaConnectionError, KafkaTimeoutError):
        for address in brokers.addresses:
            _refuse_deaf(address)
        protocol = brokers.security.protocol
        raise StackError(
            f"{', '.join(brokers.addresses)} can be reached, and nobody is let in by {protocol}:"
            " look at the protocol, the login and the certificates that the stack's file names"
        ) from None


def _refuse_deaf(address: str) -> None:
    """Raise `OSError` if nobody listens there: it is known sooner than a client would tell."""
    socket.create_connection(_host_and_port(address), _ANSWERS_WITHIN_S).close()


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def runs_here(master: str) -> bool:
    """Whether the executors of a master run on this machine, where they can be struck."""
    found = _HOST.fullmatch(master)
    if found is None:  # local[...]: there are none but the driver itself
        return True
    with suppress(OSError), socket.socket() as probe:
        probe.bind((found[1].strip("[]"), 0))
        return True
    return False
