"""A member of an external stack: looked at from here, and struck by its owner's own commands.

A command that has ended proves nothing: a verb has taken hold when the member was seen to serve
before it, and not to serve in some looks one after another after it.
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
_SILENT_LOOKS, _BETWEEN_S = 3, 1.0  # one look may fail on a busy machine
_SERVES_WITHIN_S = 120
_SAID = 500
KAFKA = "kafka"  # all brokers together, however many there are
_ANSWERS_WITHIN_S = 2
_HOST = re.compile(r"spark://(.+):\d+")


@dataclass(frozen=True)
class ExternalMember:
    """A member that runs wherever it does: it can be looked at, and has the verbs of its file."""

    name: str
    address: str
    external: External
    commands: Mapping[Verb, tuple[str, ...]] = field(default_factory=dict)

    stop_signal = ""

    @property
    def kind(self) -> str:
        """What it is one of."""
        return self.name.partition(":")[0]

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """What the file has commands for."""
        return tuple(self.commands)

    @property
    def listens_on(self) -> list[tuple[str, int]]:
        """Nothing that must be free here."""
        return []

    def needs(self, living: Collection[str]) -> str:  # noqa: ARG002  the contract of members
        """Whoever starts it knows that."""
        return ""

    def remove_leftovers(self) -> None:
        """Nothing of it is ours to remove."""

    def family(self, main: Identity | None) -> list[Identity]:  # noqa: ARG002  the same
        """Its processes are nobody's to see from here."""
        return []

    def trouble(self) -> str:
        """Say what keeps it from serving."""
        return look_at(self.name, self.external)

    def order(self, verb: Verb) -> list[str]:
        """Run the command for a verb to its end; return its words."""
        words = list(self.commands[verb])
        said = f"{self.name}: its {verb} command, {words[0]},"
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
            raise StackError(f"{said} cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise StackError(f"{said} did not end within {_ENDS_WITHIN_S} s") from None
        if done.returncode:
            tail = done.stderr.strip()[-_SAID:]
            raise StackError(f"{said} ended with {done.returncode}: {tail}")
        return words


def carry_out(member: ExternalMember, verb: Verb) -> dict[str, Any]:
    """Have a verb done and return the proof: what was seen of the member before and after."""
    before = member.trouble()
    if verb not in CURES and before:
        raise RequestError(
            f"{member.name} does not serve ({before}), so there is nothing to {verb}"
        )
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
    """Return what keeps it from serving, once it has not in several looks one after another."""
    silent = 0

    def is_silent() -> str:
        nonlocal silent
        said = member.trouble()
        silent = silent + 1 if said else 0
        return said if silent >= _SILENT_LOOKS else ""

    words = f"{member.name} serves on after its {verb} command: nothing proves that it was struck"
    return wait_for(is_silent, _TAKES_HOLD_WITHIN_S, words, every_s=_BETWEEN_S)


def await_service(member: ExternalMember) -> str:
    """Wait until a member serves; raise `StackError` with what it lacks if it does not."""
    said = ""

    def look() -> bool:
        nonlocal said
        said = member.trouble()
        return not said

    try:
        wait_for(look, _SERVES_WITHIN_S, f"{member.name} does not serve", every_s=0.2)
    except StackError as error:
        raise StackError(f"{error}: {said}") from None
    return ""


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
