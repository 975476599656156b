"""The file of an external stack: the addresses of its parts, and the commands for its verbs.

It contains no secret: `${NAME}` names the environment variable that contains one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from onceproof.errors import RequestError, missing
from onceproof.kafka.security import MECHANISMS, PROTOCOLS, Brokers, Security
from onceproof.schema.kinds import TEXT, Field, Many, Scalar, Shape, Word
from onceproof.schema.values import BAD, Item, Page, compose
from onceproof.stacks import VERBS, Verb
from onceproof.variables import is_named

_CURE_OF: Mapping[Verb, Verb] = {"kill": "start", "stop": "start", "pause": "resume"}
_HOST = re.compile(r"[\w.-]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")
_MASTER = re.compile(r"spark://\S+:\d{1,5}|local(\[[^\]]*\])?")
_MEMBER = re.compile(r"broker:\d{1,9}|worker:\d{1,9}|master|store")
_LOGIN = ("mechanism", "user", "password")
_FILES = ("ca", "certificate", "key", "key_password")


@dataclass(frozen=True)
class MemberEntry:
    """A member with commands in the file; `address` is empty if it needs none."""

    address: str
    commands: Mapping[Verb, tuple[str, ...]]


@dataclass(frozen=True)
class External:
    """The addresses of a stack's parts; `store` may be empty if no sink needs it."""

    file: Path
    brokers: Brokers
    spark: str
    store: str
    members: Mapping[str, MemberEntry]


def read_external(path: Path) -> External:
    """Read a stack's file; raise `RequestError` with all of its mistakes."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(
            f"cannot read {path} ({error}); write external:FILE with the file of your stack, see "
            "docs/reference/external.md"
        ) from None
    page = Page(str(path), conceals=True)
    root = compose(text, page, "the addresses of your stack, see docs/reference/external.md")
    found = _FILE.read(root)
    if found is not BAD:
        _check_security(root.find("kafka"), found["kafka"])
        _check_store(root.find("store"), found["store"])
        for name, one in found["members"].items():
            _check_member(root.find("members", name), name, one)
    page.check()
    kafka = found["kafka"]
    return External(
        path,
        Brokers(kafka.pop("bootstrap"), Security(**kafka)),
        found["spark"],
        found["store"],
        {name: _entry(one) for name, one in found["members"].items()},
    )


def _entry(given: Mapping[str, Any]) -> MemberEntry:
    return MemberEntry(given["address"], {verb: given[verb] for verb in VERBS if verb in given})


def _check_security(kafka: Item, given: Mapping[str, Any]) -> None:
    # A login must be complete and needs SASL; certificates need TLS.
    protocol, has_login = given["protocol"], [name in given for name in _LOGIN]
    login = ", ".join(_LOGIN)
    if "SASL" in protocol and not all(has_login):
        kafka.refuse(f"{protocol} needs {login}; write all of them")
    if "SASL" not in protocol and any(has_login):
        kafka.refuse(f"{protocol} takes no {login}; remove them, or write SASL_SSL")
    if "SSL" not in protocol and any(name in given for name in _FILES):
        kafka.find("protocol").refuse(f"is {protocol}, without certificates; write SSL or SASL_SSL")
    if ("certificate" in given) != ("key" in given):
        kafka.refuse("has only one of certificate and key; write both, or neither")


def _check_store(item: Item, text: str) -> None:
    if not text or is_named(text):
        return
    parts = _split(text)
    if parts is None or parts.scheme not in ("postgresql", "postgres") or not parts.hostname:
        use = "write postgresql://USER:${NAME}@HOST:PORT/DATABASE, or ${NAME}"
        item.refuse(f"is not a PostgreSQL address; {use}")
        return
    query = parse_qs(parts.query).items()
    secrets = [parts.password, *(one for name, many in query if _is_secret(name) for one in many)]
    if any(one and not is_named(one) for one in secrets):
        item.refuse("contains a password; write ${NAME} instead")


def _check_member(item: Item, name: str, given: Mapping[str, Any]) -> None:
    if not _MEMBER.fullmatch(name):
        item.refuse("is not a member; write broker:NODE_ID, worker:NUMBER, master or store")
    if ":" in name and not given["address"]:
        use = "address: HOST:PORT, of a broker's client listener or a worker's web page"
        item.refuse(missing("address", use))
    for verb, cure in _CURE_OF.items():
        if verb in given and cure not in given:
            use = f'add {cure}, or {cure}: ["true"] if something else does it'
            item.refuse(f"has {verb} but no {cure} to heal it; {use}")


def _is_address(text: Any) -> bool:
    return isinstance(text, str) and _HOST.fullmatch(text) is not None and _is_port(text)


def _is_port(text: str) -> bool:
    return 0 < int(text.rpartition(":")[2]) < 1 << 16


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        return None if parts.port == 0 else parts
    except ValueError:
        return None


def _is_secret(name: str) -> bool:
    return "password" in name.lower() or "secret" in name.lower()


def _is_master(text: Any) -> bool:
    if not isinstance(text, str) or not _MASTER.fullmatch(text):
        return False
    return not text.startswith("spark:") or _is_port(text)


def _is_variable(text: Any) -> bool:
    return isinstance(text, str) and is_named(text)


_JSON = {"type": "string"}
_ADDRESS = Scalar("HOST:PORT", _is_address, _JSON, public=True)
_VARIABLE = Scalar("${NAME}, with the name of an environment variable", _is_variable, _JSON)
_COMMAND = Field(Many(TEXT, "is empty; write the words of a command"), "a command", None)
_FILE = Shape(
    {
        "kafka": Field(
            Shape(
                {
                    "bootstrap": Field(
                        Many(_ADDRESS, "has no broker; write [HOST:PORT, ...]", alone=True),
                        "[HOST:PORT, ...]",
                    ),
                    "protocol": Field(Word(PROTOCOLS), "how clients connect", "PLAINTEXT"),
                    "mechanism": Field(Word(MECHANISMS), "with SASL", None),
                    **{
                        name: Field(_VARIABLE, "the environment variable with its value", None)
                        for name in ("user", "password", *_FILES)
                    },
                }
            ),
            "keys and values, of them bootstrap",
        ),
        "spark": Field(
            Scalar("spark://HOST:PORT, or local[2]", _is_master, _JSON, public=True),
            "spark://HOST:PORT, or local[2]",
        ),
        "store": Field(TEXT, "the address of a PostgreSQL", ""),
        "members": Field(
            Shape(
                {},
                others=Shape(
                    {
                        "address": Field(_ADDRESS, "HOST:PORT", ""),
                        **dict.fromkeys(VERBS, _COMMAND),
                    }
                ),
            ),
            "members with commands for verbs",
            {},
        ),
    }
)
