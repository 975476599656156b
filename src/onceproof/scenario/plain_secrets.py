"""Detection of secrets in plain text in a scenario file; errors never contain their values.

A secret is recognized by the name of its field (`DB_PASSWORD`, `sasl.jaas.config`) or by its form
(an address with a password, a private key, a token). In doubt a value is not a secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from onceproof.scenario.draft import Draft
from onceproof.variables import without_names

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SURE = {"password", "passwd", "passphrase", "pwd", "secret", "secrets", "credentials", "jaas"}
_KEYS = {"api", "access", "account", "private", "secret", "shared", "signing", "encryption"}
# Last words of names for facts about a secret instead of the secret.
_ABOUT = {
    *("alg", "algorithm", "arn", "class", "column", "count", "dir", "enabled", "endpoint", "env"),
    *("file", "folder", "format", "id", "interval", "length", "limit", "location", "max", "min"),
    *("mode", "ms", "name", "path", "policy", "provider", "size", "timeout", "ttl", "type", "uri"),
    *("url", "version"),
}
_BY_FORM = {
    "an address with a password": r"\w://[^/\s:@{}]*:[^/\s@{}]+@",
    "a password": r"(?i)(?:^|[\s?&;,])(?:\w*password|passwd|pwd)\s*=\s*(?!\"\"|''|[\s&;,]|$)[^{}]",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "an AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "an access token": (
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{20,}"
        r"|[sr]k_live_[A-Za-z0-9]{16,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,})"
    ),
}
_FORMS = {what: re.compile(form) for what, form in _BY_FORM.items()}
_TOKEN = re.compile(r"[A-Za-z0-9_+=-]{32,}")
_RANDOM_BITS = 4.2  # per character; names of words have less
_FLAG = re.compile(r"(?:--?)?([\w.-]+)=(.*)", re.DOTALL)


def check_secrets(draft: Draft) -> None:
    """Refuse secrets by value in commands, variables and options."""
    for name in ("sink", "workload", "inputs", "queries", "source_options"):
        if draft.has(name) and isinstance(given := draft.values.get(name), Mapping):
            _check_tree(draft, given, name)
    pipeline = draft.values["pipeline"] if draft.has("pipeline") else None
    if isinstance(pipeline, Mapping):
        for name in ("env", "options"):
            _check_tree(draft, pipeline.get(name, {}), "pipeline", name)
        for number, what in _in_command(pipeline["command"]):
            _refuse(draft, what, "pipeline", "command", number)


def _check_tree(draft: Draft, given: Mapping[str, Any], *path: str) -> None:
    for name, value in given.items():
        if isinstance(value, Mapping):
            _check_tree(draft, value, *path, name)
        elif what := secret_in(name, value):
            _refuse(draft, what, *path, name)


def _refuse(draft: Draft, what: str, *path: str | int) -> None:
    draft.refuse(
        f"{what} is in plain text; write ${{NAME}} instead, and set NAME in the environment of the"
        " command (for Airflow, in that of its workers)",
        str(path[0]),
        *path[1:],
    )


def _in_command(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each word with a secret: `--password X`, `--password=X`, or by form."""
    flag = ""
    for number, word in enumerate(words):
        is_flag = word.startswith("-")
        if found := _FLAG.fullmatch(word):
            what = secret_in(found[1], found[2])
        elif flag and not is_flag and "{" not in word:
            what = secret_in(flag, word)
        else:
            what = secret_in("", word)
        flag = word.lstrip("-") if is_flag and not found else ""
        if what:
            yield number, what


def secret_in(name: str, value: Any) -> str:
    """Return a description of the secret in a value, by its name or form; empty if none."""
    if isinstance(value, bool) or value == "":
        return ""
    text = without_names(str(value))
    for what, form in _FORMS.items():
        if form.search(text):
            return what
    if text != str(value) or str(value).startswith("{"):
        return ""  # a variable or a placeholder is in the place for the secret
    if _is_sure(name) or (_is_likely(name) and _looks_made_up(text)):
        return f"the value of {name}"
    return "a random token" if _TOKEN.fullmatch(text) and _is_random(text) else ""


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _is_sure(name: str) -> bool:
    words = _words(name)
    if not words or words[-1] in _ABOUT:
        return False
    joined = name.lower().replace("_", "").replace("-", "")
    pairs = pairwise(words)
    return (
        bool(_SURE & set(words))
        or joined.endswith(("password", "passwd"))
        or any(first in _KEYS and second == "key" for first, second in pairs)
    )


def _is_likely(name: str) -> bool:
    return bool({"key", "apikey", "token", "auth", "bearer"} & set(_words(name)[-1:]))


def _looks_made_up(text: str) -> bool:
    """Whether a text could be a key: one long word with letters and digits, not a path."""
    return (
        len(text) >= 12
        and re.fullmatch(r"[\w+=~-]+", text) is not None
        and re.search(r"\d", text) is not None
        and re.search(r"[A-Za-z]", text) is not None
    )


def _is_random(text: str) -> bool:
    kinds = (r"[a-z]", r"[A-Z]", r"\d")
    if not all(re.search(kind, text) for kind in kinds) or len(re.findall(r"\d", text)) < 3:
        return False
    shares = (count / len(text) for count in Counter(text).values())
    return -sum(share * math.log2(share) for share in shares) >= _RANDOM_BITS
