"""What brokers must be like for two-phase commit, looked at before anything is written."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError
from onceproof.sinks import Target
from onceproof.sinks.topics.cluster import Cluster, described

_LOG = logging.getLogger("onceproof.sinks")
_TRANSACTIONS = 2  # of transaction.version: the end of a transaction raises its epoch
_PATTERNS = 2  # of ListTransactions: brokers from 4.1 find ids by their beginning
_MAX_TIMEOUT = "transaction.max.timeout.ms"
_EXPIRATION = "transactional.id.expiration.ms"
_DEFAULTS = {_MAX_TIMEOUT: 900_000, _EXPIRATION: 604_800_000}
_OPTION = "transaction_timeout_ms"
_LARGEST_MS = 2_147_483_000  # librdkafka adds a little, and must not come over 31 bits
_DAY_MS, _HOUR_MS = 86_400_000, 3_600_000


@dataclass(frozen=True)
class Brokers:
    """What brokers say of themselves."""

    transaction_version: int
    list_version: int
    settings: Mapping[str, int]

    @classmethod
    def of(cls, client: Any) -> Brokers:
        """Ask them."""
        features = client.describe_features()
        _, level = features.get("transaction.version", {}).get("finalized", (0, 0))
        return cls(level, _newest(client, "ListTransactions"), _settings(client))


def check(client: Any, target: Target) -> None:
    """Raise `RequestError` for brokers that cannot do it, and warn of what will hurt later."""
    found = Brokers.of(client)
    refuse(found)
    chosen(target, found)
    goes_on(target)
    for words in warnings(found):
        _LOG.warning(words)


def check_rights(client: Any, topic: str, wanted: Sequence[str]) -> None:
    """Raise `RequestError` where we may not do to a topic what the sink will have to."""
    told = described(client, topic).get("authorized_operations") or wanted
    if missing := [one for one in wanted if one not in told]:
        raise RequestError(
            f"we may not {', '.join(missing)} {topic}: give this user the right to"
            f" {', '.join(wanted)} it"
        )


def refuse(found: Brokers) -> None:
    """Raise for brokers that are too old, or are run as older ones."""
    if found.list_version < _PATTERNS:
        raise RequestError(
            "these brokers do not find transactions by the beginning of their ids, which Kafka does"
            " from 4.1: two_phase_topic needs that to settle what a dead job has left"
        )
    if found.transaction_version < _TRANSACTIONS:
        raise RequestError(
            f"transaction.version of these brokers is {found.transaction_version}: with it the end"
            " of a transaction does not fence who still writes in it. Write `kafka-features.sh"
            " upgrade --feature transaction.version=2`"
        )


def warnings(found: Brokers) -> list[str]:
    """Return what is to be said of settings that will hurt later."""
    said = []
    most, expiration = found.settings[_MAX_TIMEOUT], found.settings[_EXPIRATION]
    if most < _DAY_MS:
        said.append(
            f"{_MAX_TIMEOUT} is {most:,}: a job that is down for longer between its decision and"
            " the last commit loses that batch. Write 2147483647, or at least a day"
        )
    if expiration > _HOUR_MS:
        ids = 4 * expiration // 1000
        said.append(
            f"{_EXPIRATION} is {expiration:,}: four partitions and a batch a second leave {ids:,}"
            f" ids with the coordinators, and {4 * _HOUR_MS // 1000:,} with {_HOUR_MS:,}"
        )
    return said


def goes_on(target: Target) -> bool:
    """Whether a sink that has lost a decided batch goes on: it tells so, and does not stop."""
    given = str(target.options.get("when_lost", "stop"))
    if given not in ("stop", "go_on"):
        raise RequestError(f"when_lost {given} is neither: write stop or go_on")
    return given == "go_on"


def timeout_ms(target: Target) -> int:
    """Return the time-out of a target's transactions: the one that is given, or the largest."""
    return Cluster.of(target).ask(lambda client: chosen(target, Brokers.of(client)))


def chosen(target: Target, found: Brokers) -> int:
    """Return the time-out, or raise for one that brokers do not take."""
    most = min(found.settings[_MAX_TIMEOUT], _LARGEST_MS)
    given = str(target.options.get(_OPTION, most))
    if not given.isdecimal() or not 1000 <= int(given) <= most:
        raise RequestError(
            f"{_OPTION} {given} is refused by these brokers: write 1000 to {most}, or leave it"
            f" out; {_MAX_TIMEOUT} of theirs is what it can be"
        )
    return int(given)


def _newest(client: Any, name: str) -> int:
    """Return the newest version of a request that brokers take, 0 of one that they do not know."""
    found = {key.name.replace("_", "").lower(): most for key, (_, most) in _versions(client)}
    return int(found.get(name.lower(), 0))


def _versions(client: Any) -> Any:
    return client.api_versions().items()


def _settings(client: Any) -> dict[str, int]:
    """Return the settings of a broker; of one that does not let us look, Kafka's own defaults."""
    from kafka.admin import ConfigResource, ConfigResourceType
    from kafka.errors import AuthorizationError

    broker = str(client.describe_cluster()["brokers"][0]["broker_id"])
    asked = ConfigResource(ConfigResourceType.BROKER, broker, dict.fromkeys(_DEFAULTS))
    try:
        found = client.describe_configs([asked], config_filter="all")["broker"][broker]
    except AuthorizationError:
        _LOG.warning("the brokers do not let us see their settings: Kafka's defaults are assumed")
        found = {}
    return {
        name: int(found[name]["value"] if name in found else value)
        for name, value in _DEFAULTS.items()
    }
