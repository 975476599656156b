"""A member of an external stack: checked from here, and controlled by its owner's commands.

The end of a command proves nothing. A strike has taken effect when the member was healthy before
it, and unhealthy in several consecutive checks after it.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from onceproof.errors import OnceproofError, RequestError, StackError
from onceproof.kafka.security import Brokers
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.stacks import CURES, Verb
from onceproof.stacks.external.file import External
from onceproof.stacks.members.brokers import ask
from onceproof.stacks.members.cluster import page_of
from onceproof.stacks.members.store import store_trouble

_ENDS_WITHIN_S = 60
_TAKES_HOLD_WITHIN_S = 60
_SILENT_LOOKS, _BETWEEN_S = 3, 1.0  # one check may fail on a busy machine
_SERVES_WITHIN_S = 120
_ERROR_CHARACTERS = 500
KAFKA = "kafka"  # all brokers together
_ANSWERS_WITHIN_S = 2
_HOST = re.compile(r"spark://(.+):\d+")


@dataclass(frozen=True)
class ExternalMember:
    """A member outside this machine's control, with the verbs that the stack's file defines."""

    name: str
    address: str
    external: External
    commands: Mapping[Verb, tuple[str, ...]] = field(default_factory=dict)

    stop_signal = ""

    @property
    def kind(self) -> str:
        """Its kind, such as `broker`."""
        return self.name.partition(":")[0]

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """The verbs with commands in the file."""
        return tuple(self.commands)

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """Return nothing: it listens on no address of ours."""
        return []

    def needs(self, running: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """Return nothing: its owner's command takes care of dependencies."""
        return ""

    def remove_leftovers(self) -> None:
        """Do nothing: its files belong to its owner."""

    def family(self, main: Identity | None) -> list[Identity]:  # noqa: ARG002  the same
        """Return nothing: its processes are not visible from here."""
        return []

    def trouble(self) -> str:
        """Return why it is not healthy."""
        return look_at(self.name, self.external)

    def order(self, verb: Verb) -> list[str]:
        """Run a verb's command to its end; return the command."""
        words = list(self.commands[verb])
        which = f"the {verb} command of {self.name}, {words[0]},"
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=_ENDS_WITHIN_S,
                cwd=self.external.file.parent,
            )
        except OSError as error:
            raise StackError(f"{which} cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise StackError(f"{which} did not finish within {_ENDS_WITHIN_S} s") from None
        if done.returncode:
            tail = done.stderr.strip()[-_ERROR_CHARACTERS:]
            raise StackError(f"{which} exited with {done.returncode}: {tail}")
        return words


def carry_out(member: ExternalMember, verb: Verb) -> dict[str, Any]:
    """Run a verb's command; return the proof: the member's health before and after."""
    before = member.trouble()
    if verb not in CURES and before:
        raise RequestError(f"cannot {verb} {member.name}: it {before}; start or resume it first")
    began = time.monotonic()
    words = member.order(verb)
    after = await_service(member) if verb in CURES else _await_silence(member, verb)
    return {
        "command": words,
        "before": before or "it served",
        "after": after or "it serves",
        "seconds": round(time.monotonic() - began, 3),
    }


def _await_silence(member: ExternalMember, verb: Verb) -> str:
    """Wait until it is unhealthy in several consecutive checks; return why it is."""
    silent = 0

    def is_silent() -> str:
        nonlocal silent
        trouble = member.trouble()
        silent = silent + 1 if trouble else 0
        return trouble if silent >= _SILENT_LOOKS else ""

    message = f"{member.name} is still healthy after its {verb} command, so there is no proof"
    return wait_for(is_silent, _TAKES_HOLD_WITHIN_S, message, every_s=_BETWEEN_S)


def await_service(member: ExternalMember) -> str:
    """Wait until a member is healthy; raise `StackError` with its trouble after the limit."""
    trouble = ""

    def look() -> bool:
        nonlocal trouble
        trouble = member.trouble()
        return not trouble

    try:
        wait_for(look, _SERVES_WITHIN_S, f"{member.name} is not healthy", every_s=0.2)
    except StackError as error:
        raise StackError(f"{error}: it {trouble}") from None
    return ""


def look_at(name: str, external: External) -> str:
    """Return why a member is not healthy; empty if no problem can be seen from here."""
    entry = external.members.get(name)
    try:
        return _LOOKS[name.partition(":")[0]](name, entry.address if entry else "", external)
    except (OSError, ValueError) as error:
        return f"does not respond: {error}"
    except OnceproofError as error:  # such as a variable that is not set
        return f"cannot be checked: {error}"
    except Exception as error:  # kafka-python raises errors of several libraries
        return f"cannot be checked: {type(error).__name__}: {error}"


def _kafka(name: str, address: str, external: External) -> str:  # noqa: ARG001
    _cluster(external.brokers)
    return ""


def _broker(name: str, address: str, external: External) -> str:
    _refuse_unreachable(address)
    found = _cluster(replace(external.brokers, addresses=(address,)))
    ids = [one["broker_id"] for one in found["brokers"]]
    return "" if int(name.partition(":")[2]) in ids else f"is not among the cluster's brokers {ids}"


def _store(name: str, address: str, external: External) -> str:  # noqa: ARG001
    return store_trouble(external.store)


def _spark(name: str, address: str, external: External) -> str:  # noqa: ARG001
    # A hung process accepts connections but serves no page. `local` has neither port nor page.
    if address:
        page_of(*_host_and_port(address))
    elif external.spark.startswith("spark://"):
        _refuse_unreachable(external.spark.removeprefix("spark://").partition(",")[0])
    return ""


_LOOKS: Mapping[str, Callable[[str, str, External], str]] = {
    KAFKA: _kafka,
    "broker": _broker,
    "store": _store,
    "master": _spark,
    "worker": _spark,
}


def brokers_of(brokers: Brokers) -> dict[str, str]:
    """Return the addresses of the cluster's brokers by member name."""
    found = _cluster(brokers)["brokers"]
    return {f"broker:{one['broker_id']}": f"{one['host']}:{one['port']}" for one in found}


def _cluster(brokers: Brokers) -> Any:
    """Return the cluster's description; raise different errors for dead brokers and a wrong login.

    kafka-python alone tries one broker after another until its timeout, for both reasons.
    """
    from kafka.errors import KafkaConnectionError, KafkaTimeoutError

    try:
        return ask(brokers, lambda client: client.describe_cluster())
    except (KafkaConnectionError, KafkaTimeoutError):
        for address in brokers.addresses:
            _refuse_unreachable(address)
        protocol = brokers.security.protocol
        raise StackError(
            f"{', '.join(brokers.addresses)} accepts connections but no {protocol} clients; check "
            "the protocol, login and certificates in the stack's file"
        ) from None


def _refuse_unreachable(address: str) -> None:
    # A plain connection raises `OSError` sooner than a Kafka client does.
    socket.create_connection(_host_and_port(address), _ANSWERS_WITHIN_S).close()


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def runs_here(master: str) -> bool:
    """Return whether a master's executors run on this machine."""
    found = _HOST.fullmatch(master)
    if found is None:  # local[...]: the driver is the only executor
        return True
    with suppress(OSError), socket.socket() as probe:
        probe.bind((found[1].strip("[]"), 0))
        return True
    return False
