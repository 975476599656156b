"""Checks before the first write that the brokers support two-phase commit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onceproof.errors import RequestError, out_of_range, unknown
from onceproof.sinks import Target
from onceproof.sinks.topics.cluster import Cluster, described

_LOG = logging.getLogger("onceproof.sinks")
_TRANSACTIONS = 2  # of transaction.version: the end of a transaction raises its epoch
_PATTERNS = 2  # of ListTransactions: brokers from 4.1 on can filter ids by a pattern
_MAX_TIMEOUT = "transaction.max.timeout.ms"
_EXPIRATION = "transactional.id.expiration.ms"
_DEFAULTS = {_MAX_TIMEOUT: 900_000, _EXPIRATION: 604_800_000}
_OPTION = "transaction_timeout_ms"
_LARGEST_MS = 2_147_483_000  # librdkafka adds a little, and must not exceed 31 bits
_DAY_MS, _HOUR_MS = 86_400_000, 3_600_000


@dataclass(frozen=True)
class Brokers:
    """The versions and settings that the brokers report."""

    transaction_version: int
    list_version: int
    settings: Mapping[str, int]

    @classmethod
    def of(cls, client: Any) -> Brokers:
        """Read them from the brokers."""
        features = client.describe_features()
        _, level = features.get("transaction.version", {}).get("finalized", (0, 0))
        return cls(level, _newest(client, "ListTransactions"), _settings(client))


def check(client: Any, target: Target) -> None:
    """Raise `RequestError` for unsupported brokers, and log warnings about risky settings."""
    found = Brokers.of(client)
    refuse(found)
    chosen(target, found)
    goes_on(target)
    for warning in warnings(found):
        _LOG.warning(warning)


def check_rights(client: Any, topic: str, wanted: Sequence[str]) -> None:
    """Raise `RequestError` if the user lacks one of the rights to a topic."""
    granted = described(client, topic).get("authorized_operations") or wanted
    if missing := [one for one in wanted if one not in granted]:
        raise RequestError(
            f"no right to {', '.join(missing)} topic {topic}; grant this user {', '.join(wanted)}"
        )


def refuse(found: Brokers) -> None:
    """Raise for brokers that are too old, or run with an older feature level."""
    if found.list_version < _PATTERNS:
        raise RequestError(
            "these brokers cannot list transactions by the prefix of their ids, which"
            " two_phase_topic needs to settle a crashed job; use Kafka 4.1 or newer"
        )
    if found.transaction_version < _TRANSACTIONS:
        raise RequestError(
            f"transaction.version of these brokers is {found.transaction_version}: ending a"
            " transaction would not fence its producer; run `kafka-features.sh upgrade --feature"
            " transaction.version=2`"
        )


def warnings(found: Brokers) -> list[str]:
    """Return warnings about settings that will cause trouble later."""
    lines = []
    most, expiration = found.settings[_MAX_TIMEOUT], found.settings[_EXPIRATION]
    if most < _DAY_MS:
        lines.append(
            f"{_MAX_TIMEOUT} is {most:,}: a job that is down for longer between its decision and"
            " the last commit loses that batch; set it to 2147483647, or at least to a day"
        )
    if expiration > _HOUR_MS:
        ids = 4 * expiration // 1000
        lines.append(
            f"{_EXPIRATION} is {expiration:,}: with four partitions and a batch a second the"
            f" coordinators keep {ids:,} ids; with {_HOUR_MS:,} they keep {4 * _HOUR_MS // 1000:,}"
        )
    return lines


def goes_on(target: Target) -> bool:
    """Whether a sink that has lost a decided batch records the loss and continues."""
    given = str(target.options.get("when_lost", "stop"))
    if given not in ("stop", "go_on"):
        raise RequestError(unknown("when_lost", given, ("stop", "go_on")))
    return given == "go_on"


def timeout_ms(target: Target) -> int:
    """Return the time-out of a target's transactions: the given one, or the largest allowed."""
    return Cluster.of(target).ask(lambda client: chosen(target, Brokers.of(client)))


def chosen(target: Target, found: Brokers) -> int:
    """Return the time-out; raises if the brokers do not allow it."""
    most = min(found.settings[_MAX_TIMEOUT], _LARGEST_MS)
    given = str(target.options.get(_OPTION, most))
    if not given.isdecimal() or not 1000 <= int(given) <= most:
        use = f"1000 to {most}, limited by the brokers' {_MAX_TIMEOUT}, or leave it out"
        raise RequestError(out_of_range(_OPTION, given, use))
    return int(given)


def _newest(client: Any, name: str) -> int:
    # 0 for a request that the brokers do not support
    found = {key.name.replace("_", "").lower(): most for key, (_, most) in _versions(client)}
    return int(found.get(name.lower(), 0))


def _versions(client: Any) -> Any:
    return client.api_versions().items()


def _settings(client: Any) -> dict[str, int]:
    from kafka.admin import ConfigResource, ConfigResourceType
    from kafka.errors import AuthorizationError

    broker = str(client.describe_cluster()["brokers"][0]["broker_id"])
    asked = ConfigResource(ConfigResourceType.BROKER, broker, dict.fromkeys(_DEFAULTS))
    try:
        found = client.describe_configs([asked], config_filter="all")["broker"][broker]
    except AuthorizationError:
        _LOG.warning("no right to read the brokers' settings; assuming Kafka's defaults")
        found = {}
    return {
        name: int(found[name]["value"] if name in found else value)
        for name, value in _DEFAULTS.items()
    }
