"""The file of Spark's settings that a job is started with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from onceproof.documents import write_whole

_REDACTED = "(?i)secret|password|token|access[.]?key"  # Spark's own default


def redaction(secrets: Iterable[str]) -> dict[str, str]:
    """Return the setting by which Spark's event log and pages do not show secrets."""
    forms = [re.escape(one) for one in secrets]
    return {"spark.redaction.regex": "|".join([_REDACTED, *forms])} if forms else {}


def write_settings(path: Path, settings: Mapping[str, str], env: Mapping[str, str]) -> None:
    """Write settings, and the environment of executors, so that only this user may read them."""
    told = {**settings, **{f"spark.executorEnv.{name}": value for name, value in env.items()}}
    text = "".join(f"{name} {_escaped(value)}\n" for name, value in told.items() if value)
    write_whole(path, text, 0o600)


def _escaped(value: str) -> str:
    """Return a value as files of Java properties hold it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
