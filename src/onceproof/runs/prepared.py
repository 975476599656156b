"""The result of the phase `prepare`: the stack's addresses, and whether the run owns it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from dataclasses import field as field_of
from pathlib import Path

from onceproof.documents import field, read_object, write_whole
from onceproof.kafka.security import Brokers, Security


@dataclass(frozen=True)
class Prepared:
    """The addresses of a run's stack. `own`: it was started for this run alone.

    `address` is that of the first output's store, `others` are those of other outputs by name.
    `security` has the brokers' authentication; a secret is there by its variable's name.
    """

    stack: str
    own: bool
    bootstrap: str
    master: str
    address: str
    security: Mapping[str, str] = field_of(default_factory=dict)
    others: Mapping[str, str] = field_of(default_factory=dict)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all outputs' stores."""
        return (self.address, *self.others.values())

    def address_of(self, output: str) -> str:
        """Return the address of an output's store."""
        return self.others.get(output, self.address)

    @property
    def brokers(self) -> Brokers:
        """The brokers, for clients."""
        return Brokers(tuple(self.bootstrap.split(",")), Security(**self.security))

    @classmethod
    def read(cls, path: Path) -> Prepared:
        """Read a prepared.json, or raise `EvidenceError` with what is wrong with it."""
        found = read_object(path)
        where = "what was prepared"
        return cls(
            field(found, "stack", str, where),
            field(found, "own", bool, where),
            field(found, "bootstrap", str, where),
            field(found, "master", str, where),
            field(found, "address", str, where),
            field(found, "security", dict, where) if "security" in found else {},
            field(found, "others", dict, where) if "others" in found else {},
        )

    def write(self, path: Path) -> None:
        """Write it whole or not at all."""
        write_whole(path, json.dumps(asdict(self), indent=1))
