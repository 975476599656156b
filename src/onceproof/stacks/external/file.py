"""The file that names somebody's own stack: where its parts are, and the commands that strike them.

No secret stands in it: `${NAME}` names the environment variable that holds one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, parse_qs, urlsplit

from onceproof.errors import RequestError
from onceproof.kafka.security import MECHANISMS, PROTOCOLS, Brokers, Security
from onceproof.stacks import VERBS, Verb
from onceproof.stacks.external.strict_yaml import parse_strict
from onceproof.variables import is_named

_CURE_OF: Mapping[Verb, Verb] = {"kill": "start", "stop": "start", "pause": "resume"}
_HOST = re.compile(r"[\w.-]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")
_MASTER = re.compile(r"spark://\S+:\d{1,5}|local(\[[^\]]*\])?")
_MEMBER = re.compile(r"broker:\d{1,9}|worker:\d{1,9}|master|store")
_FIELDS = ("kafka", "spark", "store", "members")
_SECURITY = tuple(one.name for one in fields(Security))


@dataclass(frozen=True)
class Named:
    """One member that the file has commands for; `address` is empty for one that needs none."""

    address: str
    commands: Mapping[Verb, tuple[str, ...]]


@dataclass(frozen=True)
class External:
    """A stack by the addresses of its parts. `store` may be empty, where no sink needs one."""

    file: Path
    brokers: Brokers
    spark: str
    store: str
    members: Mapping[str, Named]


def read_external(path: Path) -> External:
    """Read a stack's file, or raise `RequestError` with the field that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(
            f"{path} cannot be read ({error}): write external:FILE, with the file that names your"
            " stack; docs/external.md tells its fields"
        ) from None
    return _Reading(path).read(parse_strict(path, text))


@dataclass(frozen=True)
class _Reading:
    """Reads one file; what it refuses is never shown where it might be a secret."""

    file: Path

    def refuse(self, field: str, said: str) -> NoReturn:
        raise RequestError(f"{self.file}: {field}: {said}")

    def read(self, found: Any) -> External:
        parts = self.mapping("the file", found, _FIELDS)
        kafka = self.mapping("kafka", parts.get("kafka"), ("bootstrap", *_SECURITY))
        spark = self.text("spark", parts.get("spark"))
        if not _MASTER.fullmatch(spark) or (spark.startswith("spark:") and not _is_port(spark)):
            self.refuse("spark", f"{spark!r} is no master: write spark://HOST:PORT, or local[2]")
        store = self.text("store", parts.get("store", ""))
        members = self.mapping("members", parts.get("members") or {}, None)
        return External(
            self.file,
            Brokers(self.bootstrap(kafka.pop("bootstrap", None)), self.security(kafka)),
            spark,
            self.store(store),
            {name: self.member(f"members.{name}", name, one) for name, one in members.items()},
        )

    def mapping(self, field: str, found: Any, known: Iterable[str] | None) -> dict[str, Any]:
        if not isinstance(found, dict):
            names = f" such as {', '.join(known)}" if known else ""
            self.refuse(field, f"is missing, or no mapping: write keys and values{names} below it")
        for name in found:
            if known is not None and name not in known:
                near = difflib.get_close_matches(str(name), list(known), 1)
                hint = f"did you mean {near[0]}? " if near else ""
                self.refuse(f"{name}", f"no such key in {field}: {hint}{', '.join(known)}")
        return {str(name): one for name, one in found.items()}

    def text(self, field: str, found: Any) -> str:
        if not isinstance(found, str):
            self.refuse(field, "is missing, or no text: write one, in quotes where YAML needs them")
        return found

    def bootstrap(self, found: Any) -> tuple[str, ...]:
        many = found if isinstance(found, list) else [found]
        if not many:
            self.refuse("kafka.bootstrap", "names no broker: write [HOST:PORT, ...]")
        for one in many:
            if not isinstance(one, str) or not _is_address(one):
                self.refuse("kafka.bootstrap", f"{one!r} is no address: write [HOST:PORT, ...]")
        return tuple(many)

    def security(self, found: dict[str, Any]) -> Security:
        given = {name: self.text(f"kafka.{name}", text) for name, text in found.items()}
        for name, words in (("protocol", PROTOCOLS), ("mechanism", MECHANISMS)):
            if name in given and given[name] not in words:
                self.refuse(f"kafka.{name}", f"{given[name]!r}: write one of {', '.join(words)}")
        for name in given.keys() - {"protocol", "mechanism"}:
            if not is_named(given[name]):  # it may be the secret itself, so it is not shown
                self.refuse(f"kafka.{name}", "is no ${NAME}: name the variable that holds it")
        security = Security(**given)
        is_sasl, has_login = "SASL" in security.protocol, [*map(given.get, _LOGIN)]
        if is_sasl != all(has_login) or is_sasl != any(has_login):
            self.refuse(
                "kafka", f"{security.protocol} and {', '.join(_LOGIN)}: write all four, or none"
            )
        return self.tls(security)

    def tls(self, security: Security) -> Security:
        has_files = any((security.ca, security.certificate, security.key, security.key_password))
        if has_files and "SSL" not in security.protocol:
            said = f"is {security.protocol}, which takes no certificates: write SSL or SASL_SSL"
            self.refuse("kafka.protocol", said)
        if bool(security.certificate) != bool(security.key):
            self.refuse("kafka", "certificate and key: write both, or neither")
        return security

    def store(self, text: str) -> str:
        if not text or is_named(text):
            return text
        parts = _split(text)
        if parts is None or parts.scheme not in ("postgresql", "postgres") or not parts.hostname:
            said = "write postgresql://USER:${NAME}@HOST:PORT/DATABASE, or ${NAME}"
            self.refuse("store", f"is no address of a PostgreSQL: {said}")
        told = parse_qs(parts.query).items()
        secrets = [
            parts.password,
            *(one for name, many in told if _is_secret(name) for one in many),
        ]
        if any(one and not is_named(one) for one in secrets):
            self.refuse("store", "has a password by value: write ${NAME} in its place")
        return text

    def member(self, field: str, name: str, found: Any) -> Named:
        if not _MEMBER.fullmatch(name):
            self.refuse(field, "is no member: write broker:NODE_ID, worker:NUMBER, master or store")
        parts = self.mapping(field, found, ("address", *VERBS))
        address = self.text(f"{field}.address", parts.pop("address", ""))
        if ":" in name and not _is_address(address):
            said = "of a broker where clients reach it, of a worker its page"
            self.refuse(f"{field}.address", f"{address!r}: write HOST:PORT, {said}")
        commands = {verb: self.command(f"{field}.{verb}", one) for verb, one in parts.items()}
        for verb, cure in _CURE_OF.items():
            if verb in commands and cure not in commands:
                said = f'there is no {cure}, which heals a {verb}: write it (["true"] where'
                self.refuse(field, f"{said} something of yours does it)")
        return Named(address, {verb: commands[verb] for verb in VERBS if verb in commands})

    def command(self, field: str, found: Any) -> tuple[str, ...]:
        if not isinstance(found, list) or not found or not all(isinstance(w, str) for w in found):
            self.refuse(field, "is no command: write its words as a list of texts")
        return tuple(found)


_LOGIN = ("mechanism", "user", "password")


def _is_address(text: str) -> bool:
    """Whether a text is HOST:PORT, with a port that can be."""
    return _HOST.fullmatch(text) is not None and _is_port(text)


def _is_port(text: str) -> bool:
    return 0 < int(text.rpartition(":")[2]) < 1 << 16


def _split(text: str) -> SplitResult | None:
    """Return the parts of an address; None where it is none, or its port cannot be."""
    try:
        parts = urlsplit(text)
        return None if parts.port == 0 else parts
    except ValueError:
        return None


def _is_secret(name: str) -> bool:
    """Whether a parameter of an address holds a secret: `password`, `sslpassword` and others."""
    return "password" in name.lower() or "secret" in name.lower()
