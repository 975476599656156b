"""Environment variables for secrets: `${NAME}` in scenarios, stack files and plans.

They are resolved only where a client is created or the job is started.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from onceproof.errors import RequestError

_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def is_named(text: str) -> bool:
    """Whether a text is `${NAME}` and nothing else."""
    return _NAMED.fullmatch(text) is not None


def names_in(text: str) -> list[str]:
    """Return the environment variables that a text names."""
    return _NAMED.findall(text)


def resolve(text: str, env: Mapping[str, str] = os.environ) -> str:
    """Return a text with the values of its variables; within an address they are URL-quoted."""
    values = values_in(text, env)
    return _NAMED.sub(lambda found: values[found[1]], text)


def values_in(text: str, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the value of each variable that a text names, quoted as that text needs."""
    is_part = "://" in text and not is_named(text)
    found = {name: _look_up(name, env) for name in names_in(text)}
    return {name: quote(one, safe="") if is_part else one for name, one in found.items()}


def without_names(text: str) -> str:
    """Return a text without the variables that it names."""
    return _NAMED.sub("", text)


def with_fields(text: str) -> str:
    """Return a format string with each `${NAME}` as the field `{$NAME}`."""
    return _NAMED.sub(r"{$\1}", text)


def conceal(message: str, text: str) -> str:
    """Return a message about a resolved text, with names instead of the secrets."""
    return hide(message, {name: os.environ.get(name, "") for name in names_in(text)})


def hide(message: str, values: Mapping[str, str]) -> str:
    """Return a text with `${NAME}` instead of each value, plain or quoted as in an address."""
    for name, value in sorted(values.items(), key=lambda one: -len(one[1])):
        for form in filter(None, (value, quote(value, safe=""))):
            message = message.replace(form, f"${{{name}}}")
    return message


def unset_error(names: Sequence[str], where: str) -> RequestError:
    """Return the error for variables that are not set; `where` is the place that names them."""
    return RequestError(
        f"environment variable {', '.join(names)} of {where} is not set; export it before this"
        " command, and for Airflow in the environment of its workers"
    )


def _look_up(name: str, env: Mapping[str, str]) -> str:
    found = env.get(name)
    if not found:
        raise unset_error([name], "the scenario or the stack's file")
    return found
