"""The environment variables that a scenario or a plan names as `${NAME}`.

A plan keeps the names. The values are looked up when the job is started, and never written down.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from onceproof.run.work import PipelinePart
from onceproof.variables import names_in, unset

# Set for the job by Onceproof, where the store of its stack has a password file.
OF_THE_STORE = ("PGPASSFILE", "PGPASSWORD")


class _Sink(Protocol):
    @property
    def options(self) -> Mapping[str, Any]: ...


class _Asked(Protocol):
    """A scenario, or the work of a plan."""

    @property
    def pipeline(self) -> PipelinePart: ...
    @property
    def sink(self) -> _Sink: ...
    @property
    def source_options(self) -> Mapping[str, Any]: ...


def variables_of(asked: _Asked) -> list[str]:
    """Return the names of all variables that a run needs, each once."""
    return list(dict.fromkeys(name for text in _texts(asked) for name in names_in(text)))


def refuse_unset(asked: _Asked, *, has_store: bool = True) -> None:
    """Raise `RequestError` if a variable that a run needs is not set; call it before it starts."""
    given = OF_THE_STORE if has_store else ()
    missing = [
        name for name in variables_of(asked) if not os.environ.get(name) and name not in given
    ]
    if missing:
        raise unset(missing, "the scenario")


def _texts(asked: _Asked) -> Iterator[str]:
    pipeline = asked.pipeline
    yield from pipeline.command
    given = (
        pipeline.options,
        pipeline.runtime.get("env", {}),
        asked.sink.options,
        asked.source_options,
    )
    for options in given:
        yield from (value for value in options.values() if isinstance(value, str))
